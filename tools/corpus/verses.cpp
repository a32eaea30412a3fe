// SPDX-License-Identifier: Apache-2.0
// Proverbs, counting rhymes and songs.
#include <algorithm>
#include <array>

#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

// Lower case and without a full stop, so that a tale can quote a proverb inside a sentence.
void add_proverbs(Grammar& g) {
  g.add("proverb_low", {"a slow stitch holds longest",
                        "the loom does not hurry, and yet the cloth gets done",
                        "one loose thread can talk the whole coat into leaving",
                        "count the sheep before you count the wool",
                        "a borrowed ladder is always one step short",
                        "the river is patient, and the bridge must be patient too",
                        "a kind word weighs nothing and carries far",
                        "the best knot is the one you can untie",
                        "flour on the hands is better than dust on the oven",
                        "who shares an umbrella walks slower and stays merrier",
                        "the moon does not ask the lamp for help",
                        "a good question is half a map",
                        "even a small bell is heard in a quiet street",
                        "mend the net while the sea is rough",
                        "the seed knows the way up",
                        "an empty sack still remembers the barley",
                        "do not scold the rain for being wet",
                        "two cooks make one soup and three stories",
                        "every rope began as grass",
                        "a creaking gate is only telling you who came",
                        "a promise is a debt with a smile on it",
                        "you cannot weave tomorrow's cloth with yesterday's thread",
                        "the tallest mast starts as the plainest tree",
                        "bread tastes best when somebody else is hungry too",
                        "a shut door keeps out the wind and the neighbours",
                        "measure the door before you build the boat",
                        "a lit window is a kind of letter",
                        "old boots know the way home",
                        "a crooked furrow still grows straight corn",
                        "where the bees go, the honey follows",
                        "it is easier to spill beans than to grow them",
                        "the anchor is heavy until the storm comes",
                        "listen twice to a whisper and once to a shout",
                        "a patch is a kind of medal",
                        "no hammer was ever improved by anger",
                        "the first frost teaches more than the almanac",
                        "a fair price leaves two people smiling",
                        "a clever fox still sleeps in a hole",
                        "plant the walnut for someone you have not met",
                        "an hour of sun dries a week of washing",
                        "the smallest key opens the largest chest",
                        "stir the dye or wear the stripes",
                        "the goat that jumps every fence is never home for supper",
                        "salt the soup before the guests arrive",
                        "a quarrel is a fire that eats its own woodpile",
                        "the wren is small, but she has read the whole hedge",
                        "the ferry leaves on time for those who are early",
                        "the deeper the well, the colder the water",
                        "a straight seam needs a steady chair",
                        "he who tells the wind his secrets must not blame the trees",
                        "some days you are the needle, and some days the cloth",
                        "a lantern is no use in a cupboard",
                        "nobody thanks the hinge until the door falls",
                        "a full barn makes a light heart",
                        "wash the bowl while it is warm",
                        "good cheese and good advice both take time",
                        "the map is dry, and the road is muddy",
                        "thank the cow before you drink the milk",
                        "a half-built bridge is only a pier",
                        "wind the clock before you scold it"});
  g.add(
      "proverb_low",
      {"[a tired|a hasty|an angry|a sleepy] {prov_maker} makes {prov_bad}",
       "[a patient|a rested|a cheerful|a humble] {prov_maker} makes {prov_good}",
       "no {prov_maker} is [too old to learn a new knot|so wise that the weather obeys]",
       "ask the {prov_maker} about {prov_topic}, and the {prov_maker2} about {prov_topic}",
       "better {prov_small} today than {prov_big} some day",
       "look after {prov_keep} in fair weather, and be glad of it in foul",
       "{prov_small} is enough to begin with",
       "the {prov_maker} who [boasts|shouts|hurries] [works alone|sells little|wastes the morning]",
       "you cannot borrow {prov_topic} from a stranger",
       "there is no shop that sells {prov_topic} by the yard"});
  g.add("proverb", {"{Proverb_low}"});
  g.add("prov_maker", {"weaver", "miller", "sailor", "gardener", "baker", "potter", "smith",
                       "cobbler", "tailor", "shepherd"});
  g.add("prov_maker2",
        {"carpenter", "dyer", "cooper", "spinner", "thatcher", "ferry keeper", "beekeeper"});
  g.add("prov_bad", {"crooked work", "thin soup", "short measure", "two of every mistake",
                     "more noise than bread", "a poor neighbour"});
  g.add("prov_good", {"straight seams", "sweet bread", "strong rope", "friends at every gate",
                      "light of a heavy load", "few mistakes"});
  g.add("prov_topic", {"patience", "bread", "rain", "trust", "wool", "laughter", "salt",
                       "honest work", "firewood", "good company"});
  g.add("prov_small", {"one warm loaf", "a single candle", "a small fish", "one dry blanket",
                       "a plain apple", "a short song"});
  g.add("prov_big", {"a golden oven", "a hundred lamps", "a whale", "a whole flock",
                     "the finest orchard", "a palace of cloth"});
  g.add("prov_keep", {"your tools", "your word", "your garden", "your friends", "your boat"});
  g.add("prov_title", {"Sayings of the {prov_maker.s}", "Sayings heard in {village}",
                       "What they say in {village}", "Words painted over doors in {village}",
                       "Old sayings from {village}", "Things {person} likes to say",
                       "A page of sayings for {month}", "Sayings for @ {season} evening",
                       "Sayings stitched on @ {colour} cushion"});
}

// Each line ends on a rhyme for its own number, so any choice of lines still scans and rhymes.
void add_counting_lines(Grammar& g) {
  g.add("line1", {"One is the weaver who sits in the sun", "One is a story that's only begun",
                  "One is a thread that is carefully spun", "One is a colt that is learning to run",
                  "One is a currant on top of a bun", "One is the lamp when the daylight is done"});
  g.add("line2",
        {"Two are the kettles of copper and blue", "Two are the laces that tie up a shoe",
         "Two are the pigeons that sit there and coo", "Two are the boats with a captain and crew",
         "Two are the spiders all silver with dew", "Two are the neighbours who borrow the glue"});
  g.add("line3", {"Three are the gulls on their way to the sea",
                  "Three are the cups that are waiting for tea",
                  "Three are the plums at the top of the tree",
                  "Three are the doors that will turn with one key",
                  "Three are the flowers that bend for the bee",
                  "Three are the lambs that are jumping for glee"});
  g.add(
      "line4",
      {"Four are the boots that are left by the door",
       "Four are the crumbs on the dining room floor", "Four are the sailors who row to the shore",
       "Four are the apples, all red to the core", "Four are the children who ask you for more",
       "Four are the hands that must pull on an oar"});
  g.add("line5",
        {"Five are the bees coming home to the hive", "Five are the cousins about to arrive",
         "Five are the seedlings, all green and alive", "Five are the otters that tumble and dive",
         "Five are the carts that the carriers drive"});
  g.add("line6",
        {"Six are the fires that are made out of sticks",
         "Six are the candles with long yellow wicks", "Six are the ovens all built out of bricks",
         "Six are the mother hen's six fluffy chicks",
         "Six are the jackdaws, all full of their tricks",
         "Six are the clocks with their tocks and their ticks"});
  g.add("line7",
        {"Seven are swallows that circle to heaven",
         "Seven are loaves that were raised with the leaven",
         "Seven are bells, and they ring till eleven", "Seven are stars in a corner of heaven"});
  g.add("line8", {"Eight are the goslings that march through the gate",
                  "Eight are the pancakes piled high on a plate",
                  "Eight are the snails, and they always come late",
                  "Eight are the sacks of a wonderful weight",
                  "Eight are the herrings we caught on our bait",
                  "Eight are the skaters that dance and that skate"});
  g.add(
      "line9",
      {"Nine are the shirts that are hung on the line",
       "Nine are the grapes on the end of the vine", "Nine are the owls in the top of the pine",
       "Nine are the balls of the sailmaker's twine",
       "Nine are the pennies, all yours and all mine", "Nine are the lanterns we polish to shine"});
  g.add("line10",
        {"Ten are the letters I wrote with my pen", "Ten are the eggs that were laid by the hen",
         "Ten are the foxes asleep in the glen", "Ten are the steps to the bear in his den",
         "Ten are the wrens, every one is a wren"});
  g.add("count_end",
        {"Now fold up the cloth, and we'll count them again",
         "And that is the end, so begin it again", "So clap with your hands, and go over again",
         "Then home to our supper, and tell it again", "Now blow out the candle till morning again",
         "So whisper it softly and start it again"});
  g.add("count_title", {"To count the {animals}", "For skipping at {landmark}",
                        "A rhyme from {village}", "For {child} to count by",
                        "A rhyme for winding {colour} wool", "To sing on the way to {landmark}",
                        "{child} and {child} count to ten", "For @ {season} morning in {village}"});
}

void add_couplets(Grammar& g) {
  g.add(
      "couplet",
      {"The [shuttle|bobbin] goes over, the [shuttle|bobbin] goes under,\nAnd far on the hills "
       "there's a mutter of thunder.",
       "The river runs down to the mill and the weir,\nAnd carries the [leaves|songs|petals] from "
       "the end of the year.",
       "There's bread on the table and wood by the wall,\nAnd room by the fire for the great and "
       "the small.",
       "The [sailor|fisher] comes home with the salt on his sleeve,\nAnd shows us the knots that "
       "the sea taught to weave.",
       "The [gardener|farmer] is sleeping, the roses are too,\nAnd each [little|curling] leaf "
       "holds a thimble of dew.",
       "The wind in the [chimney|keyhole] is singing a tune\nTo the owl on the barn and the cat "
       "and the moon.",
       "So wind up the wool and put by the thread,\nThe stars are all out, and it's time for your "
       "bed.",
       "A stitch for the morning, a stitch for the night,\nAnd one for the [lamp|star] that is "
       "keeping alight.",
       "The sheep on the hill are as white as the snow,\nAnd nobody counts them but people who "
       "know.",
       "The baker is up while the village is grey,\nAnd bakes us the smell of the start of the "
       "day.",
       "Oh, red is the madder and blue is the woad,\nAnd green is the grass at the side of the "
       "road.",
       "The rain on the [window|shutter] says hush and be still,\nThe mill wheel is turning alone "
       "by the hill.",
       "The fog on the harbour is thick as a fleece,\nThe boats are tied up, and the gulls are at "
       "peace.",
       "The smith has a hammer, the tailor a pin,\nThe door has a latch, so lift it, come in.",
       "There's frost on the [barley|clover] and ice on the pail,\nBut spring's in a barrel and "
       "coming by sail.",
       "The old wooden bridge has a creak and a groan,\nIt grumbles all day, but it's solid as "
       "stone.",
       "We'll dance on the green with a fiddle and drum\nTill the last of the lanterns goes out "
       "with a hum.",
       "The beans climb the ladder, the peas climb the wall,\nThe pumpkin stays put and grows "
       "bigger than all.",
       "My coat has a patch that is shaped like a pear,\nI tore it on brambles, and that's why "
       "it's there.",
       "The ferry goes over, the ferry comes back,\nWith apples in baskets and oats in a sack.",
       "The spider is weaving a net on the gate,\nShe never has hurried and never is late.",
       "The kettle is humming a tune of its own,\nA song about copper, a song about stone.",
       "A penny for needles, a penny for string,\nAnd nothing at all for the songs that we sing.",
       "The geese are all flying in one crooked line,\nThey follow the coast by the smell of the "
       "brine.",
       "The hay's in the barn and the corn's in the stack,\nThe swallows have gone, but they'll "
       "surely come back.",
       "The loom by the window has [ninety|a thousand] white strings,\nAnd when it is busy, it "
       "rattles and sings.",
       "Oh, where is the donkey? He's down in the lane,\nHe will not go forward, he stands in the "
       "rain.",
       "The clockmaker's clocks never strike all as one,\nSo noon takes an hour before it is done.",
       "The bees in the heather, the trout in the stream,\nAll hum the same song at the edge of a "
       "dream.",
       "We planted a walnut no bigger than that,\nAnd now it gives shade to the cow and the cat."});
  g.add("song_title",
        {"Song of the {prov_maker.s}", "Evening in {village}", "A song for {month}",
         "Lullaby for {child}", "{person} sings at work", "What the {colour} loom sang",
         "The road to {village}", "A song for rainy {day.s}", "By {landmark}"});
}

}  // namespace

void add_verses(Grammar& g) {
  add_proverbs(g);
  add_counting_lines(g);
  add_couplets(g);
}

std::string make_proverbs(Grammar& g) {
  std::string text = "{prov_title}\n";
  const int lines = g.rng().between(4, 7);
  for (int i = 0; i < lines; ++i) text += "{Proverb_low}.\n";
  return g.expand(text);
}

std::string make_rhyme(Grammar& g) {
  std::string text = "{count_title}\n";
  // Sometimes only up to five, so that the ends of the rhymes differ.
  const int last = g.rng().below(4) == 0 ? 5 : 10;
  for (int i = 1; i <= last; ++i) {
    text += "{line" + std::to_string(i) + "}" + (i % 2 == 0 || i == last ? ".\n" : ",\n");
  }
  if (last == 10) text += "{count_end}.\n";
  return g.expand(text);
}

std::string make_song(Grammar& g) {
  std::string text = "{song_title}\n";
  const int couplets = g.rng().between(3, 5);
  for (int i = 0; i < couplets; ++i) text += "{couplet}\n";
  return g.expand(text);
}

}  // namespace twill_corpus
