// SPDX-License-Identifier: Apache-2.0
// The people, places and things of the valley, and small sentences that any piece may borrow.
#include <string>
#include <string_view>
#include <vector>

#include "pieces.h"

namespace twill_corpus {
namespace {

struct Trade {
  const char* name;
  const char* place;
  const char* tool;
  const char* goods;    // plural
  const char* working;  // "weaving cloth"
  const char* worked;   // "wove cloth"
  const char* woman;
  const char* man;
};

// Every name keeps its trade through the whole corpus, so the cast can be learned.
constexpr Trade kTrades[] = {
    {"weaver", "the weaving shed", "shuttle", "blankets", "weaving cloth", "wove cloth", "Mara",
     "Tobin"},
    {"miller", "the mill", "flour scoop", "sacks of flour", "grinding corn", "ground the corn",
     "Hesper", "Aldo"},
    {"sailor", "the harbour", "spyglass", "barrels of herring", "mending sails",
     "sailed along the coast", "Ottilie", "Jory"},
    {"gardener", "the walled garden", "spade", "baskets of beans", "digging the beds",
     "grew beans and roses", "Linnet", "Perrin"},
    {"baker", "the bakery", "rolling pin", "loaves", "kneading dough", "baked the bread", "Tilda",
     "Bram"},
    {"potter", "the pottery", "turning wheel", "bowls", "shaping clay", "shaped the clay", "Anneth",
     "Corin"},
    {"smith", "the smithy", "hammer", "horseshoes", "beating iron", "beat the iron", "Petra",
     "Garrick"},
    {"carpenter", "the wood yard", "saw", "benches", "planing boards", "planed the boards", "Maude",
     "Silas"},
    {"dyer", "the dye house", "stirring pole", "skeins of red wool", "stirring the vats",
     "dyed the wool", "Sorrel", "Odo"},
    {"shepherd", "the high pasture", "crook", "fleeces", "counting sheep", "kept the sheep", "Wren",
     "Ewan"},
    {"fisher", "the fishing pier", "net", "baskets of trout", "mending nets", "caught trout",
     "Junia", "Fenn"},
    {"beekeeper", "the bee yard", "smoke pot", "jars of honey", "tending the hives",
     "tended the hives", "Bryony", "Lorcan"},
    {"cobbler", "the cobbler's bench", "awl", "boots", "stitching soles", "stitched the boots",
     "Nell", "Hob"},
    {"tailor", "the tailor's window", "needle", "coats", "sewing buttons", "sewed the coats",
     "Isaura", "Matthias"},
    {"basket maker", "the willow yard", "bodkin", "baskets", "splitting willow",
     "plaited the willow", "Dilys", "Osric"},
    {"candle maker", "the candle shop", "dipping rack", "candles", "melting wax",
     "dipped the candles", "Rosalba", "Davin"},
    {"ferry keeper", "the ferry landing", "long oar", "ferry tickets", "rowing the ferry",
     "rowed the ferry", "Edda", "Cuthwin"},
    {"cooper", "the barrel yard", "mallet", "barrels", "bending staves", "bent the staves",
     "Gudrun", "Rufus"},
    {"thatcher", "the reed bank", "ladder", "bundles of reed", "thatching roofs",
     "thatched the roofs", "Kerra", "Alwin"},
    {"spinner", "the spinning room", "spindle", "balls of yarn", "spinning wool", "spun the wool",
     "Elsin", "Ludo"},
    {"rope maker", "the rope walk", "hemp hook", "coils of rope", "twisting hemp",
     "twisted the hemp", "Brida", "Marrick"},
    {"bookbinder", "the paper loft", "bone folder", "ledgers", "folding paper", "bound the ledgers",
     "Clemence", "Amory"},
    {"clockmaker", "the clock shop", "tiny screwdriver", "clocks", "oiling gears",
     "mended the clocks", "Vesna", "Tam"},
    {"lamplighter", "the lamp store", "lighting pole", "lanterns", "trimming wicks",
     "lit the lamps", "Fable", "Gideon"},
    {"cheese maker", "the dairy", "curd knife", "cheeses", "pressing curds", "pressed the cheeses",
     "Hanne", "Barnaby"},
    {"schoolteacher", "the schoolhouse", "chalk", "copybooks", "teaching sums", "taught the sums",
     "Imogen", "Leander"},
};

constexpr const char* kGirls[] = {"Pip",  "Nora", "Tansy", "Mina",  "Liss",
                                  "Dory", "Etta", "Poppy", "Sanna", "Ivy"};
constexpr const char* kBoys[] = {"Robin", "Jem",  "Otto",  "Kit",  "Wilf",
                                 "Nico",  "Arlo", "Finch", "Toby", "Hal"};

std::string pronouns(bool woman) {
  return woman ? ";he=she;him=her;his=her;self=herself;kin=[aunt|sister|mother|grandmother]"
               : ";he=he;him=him;his=his;self=himself;kin=[uncle|brother|father|grandfather]";
}

std::string person(const Trade& t, bool woman) {
  return std::string(woman ? t.woman : t.man) + pronouns(woman) + ";trade=" + t.name +
         ";place=" + t.place + ";tool=" + t.tool + ";goods=" + t.goods + ";working=" + t.working +
         ";worked=" + t.worked;
}

bool is_expert(std::string_view trade) {
  return trade == "miller" || trade == "sailor" || trade == "smith" || trade == "gardener" ||
         trade == "schoolteacher";
}

void add_people(Grammar& g) {
  for (const Trade& t : kTrades) {
    const std::vector<std::string> pair = {person(t, true), person(t, false)};
    g.add("person", pair);
    // "a_weaver" for tales that need one; "layperson" for tales whose hero must be new to the job.
    g.add(std::string("a_") + t.name, pair);
    if (!is_expert(t.name)) g.add("layperson", pair);
  }
  for (const char* name : kGirls) g.add("child", {name + pronouns(true) + ";kid=girl"});
  for (const char* name : kBoys) g.add("child", {name + pronouns(false) + ";kid=boy"});
  g.add("adj_person", {"patient",  "kind",       "careful",   "cheerful",   "stubborn", "quiet",
                       "proud",    "clever",     "honest",    "thoughtful", "curious",  "merry",
                       "hasty",    "gentle",     "forgetful", "brave",      "shy",      "tireless",
                       "generous", "sharp-eyed", "dreamy",    "modest"});
}

void add_places(Grammar& g) {
  g.add("village", {"Hatherby", "Saltmere", "Ashwick", "Withy Bridge", "Oakhollow", "Lower Thrum",
                    "Upper Thrum", "Quernford", "Gullhaven", "Marlbank", "Fennick", "Cobblestow",
                    "Larkfield", "Tallow Cross", "Reedham Ferry", "Stonyford"});
  g.add("landmark", {"the mill pond",     "the old stone bridge", "the three willows",
                     "the ferry landing", "the chapel gate",      "the dye works",
                     "the apple orchard", "the rope walk",        "the salt sheds",
                     "the bee yard",      "the village well",     "the lime kiln",
                     "the long meadow",   "the watch tower",      "the crooked stile",
                     "the duck pond",     "the hollow oak",       "the weir",
                     "the tithe barn",    "the market cross",     "the blackberry hedge",
                     "the drying green",  "the boat sheds",       "the sheepfold"});
  g.add("hiding", {"under the bench", "behind the flour bins", "beneath a heap of fleece",
                   "inside the old boot by the door", "between two floorboards",
                   "in the bottom of the basket", "at the back of the cold oven",
                   "in the fork of the pear tree", "under the doormat", "behind the clock",
                   "in the pocket of the other coat", "on the window ledge",
                   "inside the empty beehive", "at the foot of the ladder", "in the woodpile"});
  g.add("day", {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"});
  g.add("month", {"January", "February", "March", "April", "May", "June", "July", "August",
                  "September", "October", "November", "December"});
  g.add("season", {"spring", "summer", "autumn", "winter"});
  g.add("when", {"one grey morning in spring",
                 "on the first day of summer",
                 "late one evening in autumn",
                 "in the middle of a hard winter",
                 "on the morning of the market",
                 "just before sunrise",
                 "the week after the harvest",
                 "on a windy afternoon in March",
                 "one warm night in June",
                 "the day the swallows came back",
                 "at the end of a long dry summer",
                 "on the coldest morning of the year",
                 "when the apple trees were in flower",
                 "soon after the sheep were shorn",
                 "one quiet Sunday",
                 "on the eve of the lantern fair",
                 "when the first frost lay on the fields",
                 "a little after noon",
                 "in the year of the great flood",
                 "before the bells had rung for breakfast"});
}

void add_things(Grammar& g) {
  g.add("thing", {"copper kettle", "blue ribbon",     "brass bell",
                  "wooden spoon",  "silver thimble",  "oak chest",
                  "tin whistle",   "woollen blanket", "clay jug",
                  "iron key",      "small lantern",   "leather purse",
                  "painted cup",   "straw hat",       "walnut box",
                  "bone comb",     "green scarf",     "pewter plate",
                  "glass marble",  "old fiddle",      "carved walking stick",
                  "red mitten",    "ivory button",    "folding knife",
                  "sea shell",     "amber bead",      "patched umbrella",
                  "spinning top",  "paper kite",      "little drum"});
  g.add("animal", {"goat", "grey cat", "donkey", "brown hen", "lame fox", "young owl", "hedgehog",
                   "black lamb", "wild goose", "sheepdog", "pony", "jackdaw", "otter", "calf",
                   "hare", "speckled duck", "heron", "badger"});
  g.add("animals", {"ducks", "hens", "geese", "sparrows", "sheep", "goats", "bees", "pigeons",
                    "cows", "cats"});
  g.add("adj_thing", {"old", "fine", "plain", "small", "heavy", "bright", "sturdy", "odd", "useful",
                      "pretty", "worn", "handsome", "simple", "polished", "dusty", "elegant"});
  g.add("food", {"barley bread", "onion soup", "apple cake", "bean stew", "goat's cheese",
                 "honey biscuits", "smoked trout", "plum tart", "oat porridge", "leek pie",
                 "roast chestnuts", "nettle broth", "pear jam", "potato cakes", "rye rolls",
                 "mushroom pasties", "baked turnips", "egg noodles"});
  g.add("colour", {"red", "blue", "green", "yellow", "grey", "brown", "white", "black", "orange",
                   "purple", "russet", "indigo", "cream", "scarlet", "saffron", "crimson"});
  g.add("cloth", {"linen", "wool", "canvas", "flannel", "twill", "felt", "serge", "muslin", "tweed",
                  "hemp cloth"});
  g.add("fruit", {"apple", "pear", "plum", "cherry", "quince", "fig", "peach", "damson", "apricot",
                  "walnut"});
  g.add("smallnum",
        {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"});
  g.add("coins",
        {"three pence", "four copper coins", "a silver penny", "six pence", "two shillings",
         "a small purse of coins", "nine copper pennies", "half a shilling"});
}

void add_scenery(Grammar& g) {
  g.add("detail",
        {"swallows were [nesting under the eaves|skimming low over the pond]",
         "a [thin|soft|warm] rain was falling on the [roofs|barley|orchard]",
         "the [river|stream] ran [high and brown|clear and slow] between its banks",
         "smoke rose straight up from [every chimney|the baker's chimney]",
         "the [wind|breeze] smelled of [salt|cut hay|wood smoke|wet wool]",
         "{animals} were [grumbling|wandering|dozing] in the lane",
         "@ {animal} was [asleep|sitting|waiting] by {landmark}",
         "the [looms|mill wheels|church bells] could be heard as far as {landmark}",
         "children were [sailing paper boats|rolling hoops|chasing a ball] near {landmark}",
         "long shadows lay across {landmark}",
         "the hedges were [white with blossom|full of berries|bright with dew]",
         "a cart loaded with [hay|turnips|barrels|fleeces|firewood] creaked past {landmark}",
         "[lamps|candles] were being lit in the windows",
         "the tide was [going out|coming in], and the gulls were [noisy|restless|circling]",
         "somebody was [whistling|singing|hammering] behind {landmark}",
         "frost had drawn ferns on [the window|every pane]",
         "the [beans|peas|roses] had climbed right over the garden wall",
         "lines of washing flapped like [flags|sails|great white birds]",
         "the [moon|sun] hung low over {landmark}",
         "the air was so still that [a feather would have fallen straight down|you could hear the "
         "bees]"});
  g.add("walk",
        {"[{h}|{h.He}] took the path past {landmark} and {landmark}",
         "[{h}|{h.He}] set off along the river, with @ {thing} in one hand and some {food} in the "
         "other",
         "so {h} put on {h.his} coat, whistled to the dog, and walked as far as {landmark}",
         "[{h}|{h.He}] crossed the fields by {landmark}, for that was the shortest way",
         "it was a long walk by way of {landmark}, and {h} hummed to keep {h.his} feet moving",
         "[{h}|{h.He}] hurried down the lane, past {landmark}, without stopping to talk to anyone",
         "[{h}|{h.He}] asked at {landmark}, and asked again at {landmark}, but nobody could help"});
  g.add("mood",
        {"{h} sat down on an upturned bucket and thought about it", "{h} did not know what to do",
         "{h} bit {h.his} lip and looked at the ground", "{h} rubbed {h.his} eyes and looked again",
         "{h} swallowed hard", "{h} sighed like an old gate", "{h} felt {h.his} cheeks grow warm",
         "{h} said nothing for a long time", "for a moment {h} wanted to [run away|shout|cry]",
         "{h} scratched {h.his} chin and frowned",
         "{h} was so [worried|surprised|puzzled] that {h.he} forgot {h.his} supper",
         "{h} took a deep breath and rolled up {h.his} sleeves",
         "{h} counted slowly to ten, as {h.his} {h.kin} had taught {h.him}"});
  g.add("ending",
        {"and from that day on, {h} and {f} were the best of friends",
         "after that, people in {v} always asked {h} first",
         "people in {v} still tell the story when the nights are long",
         "that evening they ate {food} together, and {h} told the whole story twice",
         "{h} slept well that night and did not wake until the sun was high",
         "if you go to {v} today, somebody is sure to tell you about it",
         "{h} and {f} still laugh about it when they meet by {landmark}",
         "when the others asked what had happened, {h} only smiled and went back to {h.working}",
         "and that is why there is always a lamp in the window of {h.place}",
         "the next morning {h} was back at {h.place}, {h.working} as if nothing had happened",
         "the whole village came to {h.place} that night, and there was {food} for everyone",
         "{h} never forgot it, and neither did {f}",
         "and so it ended well, as things often do when people take their time",
         "{f} wrote it all down on the last page of an old ledger, and that is how we know"});
  g.add("lesson",
        {"\"{Moral},\" {h} liked to say afterwards", "\"{Moral},\" said {f}, and {h} had to agree",
         "it was {f} who put it best. \"{Moral},\" {f.he} said",
         "over the door of {h.place} {h} painted these words: {Moral}",
         "{h} learned something that day: {moral}",
         "\"what did you learn?\" asked {f}. \"{Moral},\" said {h}"});
  g.add("said", {"said", "answered", "replied", "said", "murmured"});
}

}  // namespace

void add_lexicon(Grammar& g) {
  add_people(g);
  add_places(g);
  add_things(g);
  add_scenery(g);
}

}  // namespace twill_corpus
