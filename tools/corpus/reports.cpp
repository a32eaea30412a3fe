// SPDX-License-Identifier: Apache-2.0
// Weather reports, market reports and the ship's log. The rules of one weather are kept together,
// so that nobody is told to dry hay in the snow.
#include <string>
#include <vector>

#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

void add_weather(Grammar& g) {
  g.add("kind", {"rain", "sun", "fog", "frost", "gale", "snow"});
  g.add("rain_sky", {"Low clouds came in from the [west|sea] before dawn.",
                     "It rained [softly|steadily|in heavy showers] over {landmark}.",
                     "The gutters were full by {hour}.",
                     "Rain fell on {v} for {smallnum} hours without a pause.",
                     "Puddles as wide as carts lay across the lane."});
  g.add(
      "rain_tip",
      {"Take in the washing and put out the barrels.", "The ducks are pleased, and nobody else is.",
       "Keep wool and paper away from the windows.", "The road by {landmark} is deep in mud."});
  g.add("sun_sky",
        {"The sky was clear from {landmark} to the sea.", "Not one cloud was seen all day.",
         "The sun came up [red|golden|bright] over {landmark}.",
         "By {hour} the stones were warm enough to sit on.",
         "The haze lifted early, and the hills looked close."});
  g.add("sun_tip", {"It is good weather for hay and for washing blankets.",
                    "Water the beans in the evening, not at noon.",
                    "Hats are advised for anyone working at {landmark}.",
                    "The bees are busy, and so should we be."});
  g.add("fog_sky",
        {"Thick fog lay on the river until {hour}.",
         "From {landmark} it was impossible to see {landmark}.",
         "The fog came up with the tide and stayed.",
         "Lamps were lit at noon, and bells were rung on the pier.", "Everything dripped."});
  g.add("fog_tip", {"Boats should stay in the harbour.", "Walk slowly, and call out at corners.",
                    "Shepherds should keep the flock near {landmark}.",
                    "If you cannot see your feet, go home."});
  g.add("frost_sky",
        {"The ground was white and hard at sunrise.",
         "Ice as thick as a [plate|thumb|slice of bread] covered the duck pond.",
         "The pump by {landmark} froze in the night.",
         "The air was still, and smoke went straight up.", "Every twig had a coat of needles."});
  g.add("frost_tip", {"Cover the young plants with straw.", "Scatter ash on the steps.",
                      "Bring the {animals} indoors before dark.", "Soup is recommended."});
  g.add("gale_sky",
        {"A strong wind blew from the [north|west|south-west] all night.",
         "Two slates and a weathercock were found near {landmark}.",
         "The waves came over the harbour wall.", "The windmill had to be tied down at {hour}.",
         "Hats were seen flying past {landmark}."});
  g.add("gale_tip", {"Shut the shutters and tie down the boats.", "Do not stand under the old elm.",
                     "Kites may be flown, but only by heavy people.",
                     "Anyone who has found @ {colour} hat should ask at the inn."});
  g.add("snow_sky",
        {"Snow began to fall at {hour}.",
         "By evening the snow reached the top of the [boots|fence|milestones].",
         "The hill road is closed beyond {landmark}.", "Large soft flakes fell on {v} all day.",
         "The roofs were white and the river was black."});
  g.add("snow_tip", {"Clear your own step first, and then your neighbour's.", "Feed the birds.",
                     "The school is shut, and the sledges are out.",
                     "Leave a lamp in the window for people on the road."});
  g.add("next_day",
        {"Tomorrow will be [much the same|a little warmer|a little colder|brighter, with some "
         "wind|dry, except near {landmark}].",
         "[More|Less] of this is expected until {day}.",
         "{person}'s knee says that it will change by {day}.",
         "The [swallows|gulls|rooks] are flying [high|low], so expect [fair weather|a change].",
         "The moon had a ring around it, and old people shook their heads."});
  g.add("measured",
        {"Nobody remembered to read the rain gauge at {landmark}.",
         "The wind came from the [north|south|east|west].",
         "The river stood {smallnum} hands below the bridge.",
         "At {hour} the glass was [rising|falling|steady].",
         "The thermometer at {landmark} could not be read, because @ {animal} had sat on it."});
}

// What is sold at the market, and its usual price in pence.
struct Ware {
  const char* name;
  const char* verb;
  int price;
};

constexpr Ware kWares[] = {
    {"a basket of plums", "costs", 4},
    {"a loaf of rye bread", "costs", 2},
    {"a dozen eggs", "costs", 5},
    {"a pound of butter", "costs", 8},
    {"a bushel of barley", "costs", 14},
    {"a yard of linen", "costs", 11},
    {"a pair of mittens", "costs", 9},
    {"a jar of honey", "costs", 7},
    {"a bundle of candles", "costs", 6},
    {"a string of onions", "costs", 3},
    {"a smoked trout", "costs", 5},
    {"a wheel of cheese", "costs", 16},
    {"a fleece of white wool", "costs", 18},
    {"a coil of rope", "costs", 10},
    {"a sack of flour", "costs", 12},
    {"a willow basket", "costs", 6},
    {"a clay bowl", "costs", 4},
    {"a laying hen", "costs", 13},
    {"a bunch of lavender", "costs", 2},
    {"a pot of ink", "costs", 3},
    {"a pound of salt", "costs", 4},
    {"a skein of red yarn", "costs", 7},
    {"a bag of walnuts", "costs", 5},
    {"a keg of cider", "costs", 19},
};

std::string pence(int n) { return n == 1 ? "a penny" : number_word(n) + " pence"; }

std::string price_line(Rng& rng, const Ware& ware) {
  const int change = rng.between(-2, 2);
  const int price = ware.price + change + (ware.price + change < 1 ? 2 : 0);
  std::string line = capitalize(ware.name) + " " + ware.verb + " " + pence(price);
  const int diff = price - ware.price;
  const bool remark = rng.below(3) == 0;
  if (diff == 0) return line + ", the same as last week." + (remark ? " {mkt_why}\n" : "\n");
  line +=
      ", " + pence(diff > 0 ? diff : -diff) + (diff > 0 ? " more" : " less") + " than last week.";
  return line + (remark ? (diff > 0 ? " {mkt_dear}\n" : " {mkt_cheap}\n") : "\n");
}

void add_market(Grammar& g) {
  g.add("mkt_open",
        {"The market was [busy|quiet|crowded|late] this week.",
         "There were {smallnum} stalls, and {smallnum} of them sold {food}.",
         "People came from as far as {village}.",
         "[Rain|Sun|A cold wind] kept [many away|everyone cheerful|the awnings flapping]."});
  g.add("mkt_dear",
        {"This is blamed on [the late frost|the bad roads|the broken mill|the rain|the moon].",
         "Buyers looked, sighed, and paid.", "{person} said that it was a scandal and bought two.",
         "There was some shouting."});
  g.add("mkt_cheap", {"This is thanks to [a good harvest|the dry roads|the new mill|fair winds].",
                      "{person} filled a whole cart.", "Even {person} smiled.",
                      "The sellers did not look happy."});
  g.add("mkt_why", {"{person} the stallholder sold out before {hour}.",
                    "{person} bought the last one and was envied by all.",
                    "There was some bargaining, but not much.", "It was of good quality.",
                    "There was plenty for everyone."});
  g.add("mkt_end", {"A lost {thing} was handed in at the market cross.",
                    "The prize for the heaviest {vegetable} went to {person}.",
                    "The next market will be held on {day}.",
                    "@ {animal} got loose among the stalls, and a quantity of {food} is missing.",
                    "{person} played the fiddle and earned {coins}.",
                    "The market closed at {hour} with a song."});
  g.add("vegetable", {"turnip", "cabbage", "pumpkin", "leek", "marrow", "beetroot"});
}

void add_log(Grammar& g) {
  g.add("ship", {"Patient Anna", "Grey Gull", "Salt Herring", "Morning Star", "Lucky Button",
                 "Silver Sprat", "Old Promise", "Second Wind"});
  g.add("log_first", {"Left {v} on the morning tide with {cargo} on board.",
                      "Cast off from {v} at {hour}. Cargo: {cargo}.",
                      "Sailed from {v} in good order, {smallnum} hands on deck."});
  g.add("log_mid",
        {"Wind [fair|light|fresh|strong], sea [calm|choppy|grey|lively].",
         "Passed [a fishing fleet|a lighthouse|a small green island|a raft of seals] at {hour}.",
         "Mended the [foresail|jib|mainsail] with {colour} thread, as there was no other.",
         "The cook made {food}, and nobody complained.",
         "Fog. Rang the bell every {smallnum} minutes.", "Saw a whale. The whale saw us.",
         "Becalmed. Taught the ship's boy to tie {knot}.",
         "The {animal} we took on board at {village} has eaten the chart.",
         "Heavy rain in the night, and all the barrels are full.",
         "{h} went up the mast and would not come down until supper.",
         "Took two reefs in the sail before dark.",
         "Found a leak and stopped it with [wool|tar|an old shirt]."});
  g.add("log_last",
        {"Came into {w} at {hour}, all well.", "Dropped anchor off {w} in {smallnum} fathoms.",
         "Tied up at {w} and sold {cargo} for a fair price.",
         "Sighted {w} at dawn. The crew cheered."});
  g.add("cargo", {"{smallnum} barrels of salt", "a load of fleeces", "{smallnum} bales of {cloth}",
                  "timber and tar", "{smallnum} crates of {fruit.s}", "rope, candles and soap",
                  "grain for the mill", "{smallnum} {animals} and a piano"});
}

}  // namespace

void add_reports(Grammar& g) {
  add_weather(g);
  add_market(g);
  add_log(g);
}

std::string make_weather(Grammar& g) {
  const std::string kind = g.expand("{kind}");
  std::string rule = kind;
  rule[0] = static_cast<char>(rule[0] - 'A' + 'a');  // expand() starts it with a capital
  std::string text = "{$v:village}{v}, {day}\n";
  const int lines = g.rng().between(2, 3);
  for (int i = 0; i < lines; ++i) text += "{" + rule + "_sky} ";
  return g.expand(text + "{measured} {" + rule + "_tip} {next_day}");
}

std::string make_market(Grammar& g) {
  std::string text = "{village}, {day}, in {month}\n{mkt_open}\n";
  constexpr std::size_t kCount = sizeof(kWares) / sizeof(kWares[0]);
  // A stride that shares no factor with 24 never meets the same ware twice.
  const std::size_t start = g.rng().below(kCount);
  const std::size_t stride = std::vector<std::size_t>{5, 7, 11, 13}[g.rng().below(4)];
  const std::size_t lines = 4 + g.rng().below(3);
  for (std::size_t i = 0; i < lines; ++i) {
    text += price_line(g.rng(), kWares[(start + i * stride) % kCount]);
  }
  return g.expand(text + "{mkt_end}");
}

std::string make_log(Grammar& g) {
  std::string text =
      "{$h:person}{$v:village}{$w:village}The {ship}, {v} to {w}\nFirst day. {log_first} "
      "{log_mid}\n";
  const std::vector<std::string> days = {"Second", "Third", "Fourth", "Fifth", "Sixth"};
  const std::size_t count = 1 + g.rng().below(4);
  for (std::size_t i = 0; i < count; ++i) {
    text += days[i] + " day. {log_mid} " + (g.rng().below(2) == 0 ? "{log_mid}\n" : "\n");
  }
  return g.expand(text + days[count] + " day. [{log_mid} |]{log_last}");
}

}  // namespace twill_corpus
