// SPDX-License-Identifier: Apache-2.0
// Definitions of words from the weaving shed, the mill, the harbour and the garden.
#include <set>
#include <string>
#include <vector>

#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

struct Term {
  const char* name;
  const char* what;  // completes "X is ..."; begins with the verb
  std::vector<const char*> facts;
};

const std::vector<Term>& terms() {
  static const std::vector<Term> kTerms = {
      {"Warp",
       "is the set of threads stretched lengthwise on a loom",
       {"The warp must be strong, because it is pulled tight all day.",
        "Each thread of the warp is called an end.",
        "You put the warp on the loom before you weave the first row."}},
      {"Weft",
       "is the thread that goes from side to side, over and under the warp",
       {"The weft is carried by the shuttle.", "One passage of the weft is called a pick.",
        "The weft may be softer than the warp, since it is not stretched."}},
      {"Twill",
       "is a weave with slanting lines, made by stepping over one thread more in each row",
       {"Twill is thick, warm and hard to tear.",
        "In twill the weft goes over two threads, under two, and moves one step to the side.",
        "You can know a twill by the small diagonal ribs on its face."}},
      {"Selvedge",
       "is the finished edge of a woven cloth",
       {"A good selvedge is straight and does not fray.",
        "The selvedge is made where the weft turns round and comes back.",
        "If the selvedge pulls in, the weft was too tight."}},
      {"Heddle",
       "is a loop or wire with an eye that lifts one warp thread",
       {"Each thread of the warp goes through its own heddle.", "Heddles hang together on a shaft.",
        "A thread in the wrong heddle makes a fault down the whole cloth."}},
      {"Shuttle",
       "is the small tool that carries the weft through the shed",
       {"A shuttle is often shaped like a boat.",
        "The bobbin sits inside the shuttle and turns as the thread runs out.",
        "A good shuttle is smooth, so that it does not catch."}},
      {"Shed",
       "is the gap between the raised and the lowered threads of the warp",
       {"The shuttle flies through the shed.", "When the treadle is pressed, the shed opens.",
        "A narrow shed makes slow work."}},
      {"Reed",
       "is a comb of thin strips that keeps the warp threads apart",
       {"The reed also beats each row of weft into place.",
        "A fine reed has many dents to the inch.", "The reed is held by the beater."}},
      {"Treadle",
       "is a pedal under the loom that raises the shafts",
       {"The weaver presses the treadles with bare feet or soft shoes.",
        "Four treadles are enough for a simple twill.",
        "The order of the treadles makes the pattern."}},
      {"Bobbin",
       "is a small spool on which thread is wound",
       {"An apprentice often begins by winding bobbins.", "A full bobbin fits inside the shuttle.",
        "If a bobbin is wound too loosely, it tangles."}},
      {"Plain weave",
       "is the simplest weave, over one thread and under the next",
       {"Plain weave looks the same on both sides.", "Linen sheets are made in plain weave.",
        "A child can learn plain weave in one afternoon."}},
      {"Satin weave",
       "is a weave with long floats that make a smooth and shining face",
       {"Satin weave is lovely to touch but easily snagged.",
        "In satin weave the crossings are spread as far apart as possible.",
        "The back of a satin weave is dull."}},
      {"Herringbone",
       "is a twill whose lines turn back and forth like the bones of a fish",
       {"Herringbone is made by reversing the order of the threads.",
        "Many winter coats are woven in herringbone.",
        "From far away, herringbone looks like one plain colour."}},
      {"Spindle",
       "is a stick with a weight that twists fibres into yarn",
       {"A spindle can be used while walking.", "The weight on a spindle is called a whorl.",
        "The spindle is far older than the spinning wheel."}},
      {"Distaff",
       "is a staff that holds the fibres before they are spun",
       {"The distaff leaves both hands free.", "Flax is usually spun from a distaff.",
        "A ribbon keeps the fibres on the distaff."}},
      {"Carding",
       "is the combing of wool between two brushes, so that the fibres lie loose and even",
       {"Carding comes after washing and before spinning.", "Well carded wool feels like a cloud.",
        "Two colours can be mixed by carding them together."}},
      {"Fulling",
       "is the beating of wet woollen cloth until it becomes thick and close",
       {"Fulling makes the cloth shrink.",
        "A fulling mill has heavy wooden hammers driven by water.",
        "After fulling, the single threads can hardly be seen."}},
      {"Mordant",
       "is a salt that helps a dye to hold on to the cloth",
       {"Alum is a common mordant.", "Without a mordant, many colours wash out.",
        "The same dye can give two colours with two mordants."}},
      {"Madder",
       "is a plant whose root gives a warm red dye",
       {"Madder must grow for three years before it is dug.", "Too much heat turns madder brown.",
        "Coats dyed with madder stay red for a lifetime."}},
      {"Woad",
       "is a plant whose leaves give a blue dye",
       {"Cloth dyed with woad comes out green and turns blue in the air.",
        "The woad vat has a strong smell.", "Woad grows well on sunny banks."}},
      {"Fleece",
       "is the whole coat of wool from one sheep",
       {"A fleece is rolled up with the clean side out.",
        "The best part of the fleece comes from the shoulder.",
        "One fleece may weigh as much as a small child."}},
      {"Skein",
       "is a long loop of yarn, twisted and tucked so that it does not tangle",
       {"Yarn is dyed in skeins.",
        "Two people are needed to wind a skein into a ball, or one person and a chair.",
        "A skein should be tied in four places."}},
      {"Tapestry",
       "is a picture woven with many small pieces of weft",
       {"In a tapestry the warp is completely covered.", "A large tapestry may take years.",
        "The weaver of a tapestry works from the back."}},
      {"Millstone",
       "is one of two heavy round stones that grind the grain",
       {"The upper millstone turns, and the lower one lies still.",
        "The grooves of a millstone must be cut again every few weeks.",
        "A millstone that runs dry will spoil."}},
      {"Hopper",
       "is the wooden funnel that feeds grain to the millstones",
       {"A small bell rings when the hopper is nearly empty.",
        "The grain slides down the hopper by its own weight.", "Mice are fond of the hopper."}},
      {"Sluice",
       "is a gate that lets water in or keeps it out",
       {"The miller opens the sluice in the morning.",
        "When the sluice is shut, the wheel stands still.",
        "In a flood every sluice must be lifted."}},
      {"Keel",
       "is the long beam along the bottom of a boat",
       {"The keel is laid before any other part.", "A deep keel keeps a boat upright in the wind.",
        "When the keel touches sand, it is time to jump out."}},
      {"Tiller",
       "is the handle that turns the rudder",
       {"Push the tiller to the left, and the boat goes to the right.",
        "In a storm two people may hold the tiller.", "A smooth tiller has been in many hands."}},
      {"Reef",
       "is a part of the sail that is rolled up when the wind is strong",
       {"To take in a reef is to make the sail smaller.",
        "A wise sailor takes in a reef before it is needed.",
        "The reef is tied with short lines."}},
      {"Fathom",
       "is a measure of depth, about as long as two outstretched arms",
       {"One fathom is six feet.", "The depth in fathoms is found with a lead and a line.",
        "Rope is sold by the fathom in the harbour."}},
      {"Compost",
       "is old leaves and peelings that have turned into good soil",
       {"Compost should be turned over with a fork.",
        "Worms do most of the work in a heap of compost.",
        "A spoonful of compost is better than a spoonful of advice."}},
      {"Graft",
       "is a twig of one tree made to grow on another",
       {"A graft is bound with soft string and sealed with wax.",
        "With a graft, one tree can bear two kinds of apples.",
        "The best time for a graft is early spring."}},
      {"Trellis",
       "is a frame of crossed sticks for climbing plants",
       {"Beans and roses both like a trellis.", "A trellis looks a little like a plain weave.",
        "Build the trellis before you plant, not after."}},
      {"Leaven",
       "is the sour dough that makes new bread rise",
       {"A little leaven is kept from every baking.", "Leaven must be fed with flour and water.",
        "Some families have kept the same leaven for a hundred years."}},
      {"Anvil",
       "is the iron block on which the smith beats hot metal",
       {"A good anvil rings like a bell.", "The pointed end of an anvil is called the horn.",
        "An anvil stands on a thick piece of oak."}},
      {"Bellows",
       "are a leather bag that blows air into the fire",
       {"Bellows make a sound like a sleeping cow.",
        "Without bellows the forge cannot get hot enough.", "The apprentice works the bellows."}},
      {"Thatch",
       "is a roof made of straw or reed",
       {"Good thatch keeps out rain for thirty years.", "Sparrows like to nest in thatch.",
        "Thatch is laid from the bottom of the roof to the top."}},
      {"Stave",
       "is one of the curved boards of a barrel",
       {"Staves are bent over a fire of shavings.", "Iron hoops hold the staves together.",
        "One bad stave can empty a barrel."}},
      {"Kiln",
       "is an oven for baking clay",
       {"A kiln must cool for a day before it is opened.",
        "Bowls are stacked in the kiln with small stones between them.",
        "If a pot is wet, it will burst in the kiln."}},
      {"Glaze",
       "is a thin coat of glass on a pot",
       {"Glaze keeps water from soaking into the clay.",
        "Before firing, a glaze looks like grey mud.",
        "A drop too much of glaze will run down and stick."}},
      {"Draft",
       "is a drawing that tells the weaver how to set up a pattern",
       {"A draft is drawn on squared paper.", "The draft shows which thread goes on which shaft.",
        "Once you can read a draft, you can weave any cloth in the book."}},
      {"Nap",
       "is the soft, raised surface of a brushed cloth",
       {"The nap is raised with teasels.",
        "Stroke the nap one way and it is smooth, stroke it the other way and it is rough.",
        "A worn elbow has lost its nap."}},
  };
  return kTerms;
}

// "" for stuffs and crafts, "the " for parts of which a loom, a cloth or a boat has one.
std::string article_for(const std::string& name) {
  static const std::set<std::string> kBare = {
      "Twill", "Plain weave", "Satin weave", "Herringbone", "Carding", "Fulling", "Madder",
      "Woad",  "Compost",     "Leaven",      "Bellows",     "Thatch",  "Glaze"};
  static const std::set<std::string> kOnlyOne = {"Warp", "Weft",   "Shed", "Nap",
                                                 "Keel", "Tiller", "Reed"};
  if (kBare.contains(name)) return "";
  return kOnlyOne.contains(name) ? "the " : "@ ";
}

std::string lower(std::string text) {
  if (text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

void add_glossary(Grammar& g) {
  g.add("glo_use", {"\"{term_say},\" said {person}, \"is a word I learned from my {kin_any}.\"",
                    "In {village} the word {term} is also the name of an inn.",
                    "{person} can talk about {term_any} for an hour.",
                    "{child} asked {person} what the word {term} meant, and this was the answer.",
                    "At {landmark} you can hear the word {term} every day.",
                    "The word {term} is an old one, and a useful one.",
                    "{person} once explained {term_any} to {child} with the help of some {food}.",
                    "You will find the word {term} in the oldest ledger in {village}.",
                    "Ask {person}, who knows more about {term_any} than anyone.",
                    "\"Remember the word {term},\" {person} tells every apprentice."});
  g.add("kin_any",
        {"aunt", "uncle", "mother", "father", "grandmother", "grandfather", "first teacher"});
}

std::string make_definition(Grammar& g) {
  const Term& term = terms()[g.rng().below(terms().size())];
  const std::string low = lower(term.name);
  const std::string article = article_for(term.name);
  g.bind("term", low);
  g.bind("term_say", term.name);
  g.bind("term_any", article.empty() ? low : "the " + low);
  std::string text = std::string(term.name) + "\n" + article + low + " " + term.what + ". ";
  const std::size_t first = g.rng().below(term.facts.size());
  const std::size_t count = 1 + g.rng().below(term.facts.size());
  for (std::size_t i = 0; i < count; ++i) {
    text += std::string(term.facts[(first + i) % term.facts.size()]) + " ";
  }
  return g.expand(text + "{glo_use}");
}

}  // namespace twill_corpus
