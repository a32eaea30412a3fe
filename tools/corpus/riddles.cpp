// SPDX-License-Identifier: Apache-2.0
// Riddles: a thing, clues about it, and the answer.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pieces.h"

namespace twill_corpus {
namespace {

struct Riddle {
  const char* answer;
  std::vector<const char*> clues;
};

const std::vector<Riddle>& riddles() {
  static const std::vector<Riddle> kRiddles = {
      {"a loom",
       {"I have a hundred strings, but I play no tune",
        "I clatter all day and never leave the room",
        "I go up and down so that another may go across",
        "You feed me thread, and I give you cloth",
        "I stand on four legs and have a beam at each end"}},
      {"a shuttle",
       {"I am a boat that never touches water",
        "I run from side to side and always bring my thread",
        "I am thrown all day long and nobody is angry with me",
        "I travel a thousand miles within one yard",
        "When I am empty, they fill me and send me off again"}},
      {"a needle",
       {"I have one eye and cannot see", "I wear a long tail that grows shorter as I work",
        "I go through every coat and never feel warm",
        "I am thin, bright and sharp, and I hate haystacks", "I follow a finger in a silver hat"}},
      {"a thimble",
       {"I am a hat, but never for a head", "I am covered in tiny dents and proud of each one",
        "I take the push and spare you the pain", "I am a cup too small for tea"}},
      {"a candle",
       {"The longer I stand, the shorter I grow", "I have a white coat and a bright head",
        "I cry hot tears without being sad", "A breath can end me",
        "I am eaten by the light I give"}},
      {"the moon",
       {"I am sometimes a plate and sometimes a sickle",
        "I walk over the roofs at night and make no sound", "The sea gets up when I call it",
        "I borrow my light and never pay it back", "Dogs sing to me"}},
      {"a river",
       {"I have a bed and never sleep in it", "I have a mouth and never eat",
        "I run all day and am never out of breath", "I know the way to the sea without a map",
        "The mill could not live without me"}},
      {"a bridge",
       {"I lie across the water and stay dry", "I have feet in the river and never catch cold",
        "I belong to both sides and take no part in the quarrel",
        "Everybody walks over me, and I do not mind"}},
      {"an egg",
       {"I am a house without a door", "I am white outside and gold inside",
        "You must break me before you can use me", "If you wait long enough, I may start to sing"}},
      {"a shadow",
       {"I follow you all day and never ask where you are going",
        "I am long in the morning and short at noon", "I can lie on the water without getting wet",
        "In the dark I leave you", "I copy everything and understand nothing"}},
      {"an echo",
       {"I answer in any language", "I have no mouth, yet I always have the last word",
        "I live among the hills and in empty barns", "I never speak first",
        "Shout at me and I shout back"}},
      {"a clock",
       {"I have hands, but I cannot clap", "I have a face, but I never wash it",
        "I walk all day without leaving the wall", "I count and count and never get past twelve",
        "When I stop, everyone is late"}},
      {"snow",
       {"I fall all night and am never hurt", "I make the whole village quiet",
        "I am a blanket that makes nobody warm", "Children love me, and carters do not",
        "I leave when the sun comes to visit"}},
      {"the wind",
       {"I slam doors and have no hands", "I whistle without lips",
        "I turn the mill and pay no rent", "You can feel me, but you cannot see me",
        "I read every newspaper and throw it away"}},
      {"bread",
       {"I rise before you do, and I have no legs", "I was grass, then dust, then dough",
        "I have a crust but no pie", "I go into the fire pale and come out brown",
        "Butter is my best friend"}},
      {"a kettle",
       {"I sing when I am hot", "I have a nose and cannot smell",
        "I breathe out clouds in the kitchen", "I am filled with cold and emptied warm"}},
      {"a button",
       {"I have two eyes or four, and I see nothing",
        "I live next to a hole, and visit it every day", "I hold your coat shut against the wind",
        "When I leave, I roll under the bed"}},
      {"an anchor",
       {"I am taken out when I am needed and pulled in when I am not",
        "I am made of iron and live on a rope", "I hold a house that floats",
        "I hold on to the bottom of the sea"}},
      {"a sail",
       {"I am a cloth that eats wind", "I am rolled up when the work is done",
        "I pull the boat and have no arms", "The weaver made me, and the sailor uses me"}},
      {"a bell",
       {"I have a tongue, but I cannot talk", "I hang all day and shout on Sundays",
        "I am struck and I sing", "Goats wear me on a strap"}},
      {"a spider",
       {"I weave without a loom", "I have eight legs and no boots", "My net is never in the sea",
        "I sit in the middle and wait", "In the morning my work is hung with pearls"}},
      {"a snail",
       {"I carry my house and pay no rent", "I am never late, for nobody expects me",
        "I leave a silver road behind me", "I have horns, but I have never fought a bull",
        "Gardeners do not like to see me among the lettuces"}},
      {"a bee",
       {"I work among the flowers and live in a crowd", "I wear a striped coat",
        "I carry a needle but do not sew", "I make what you put on your bread"}},
      {"a well",
       {"I am deep, but I am no thinker", "I have a bucket for a hat",
        "The more you pull, the more you get", "I keep the sky in a small round frame"}},
      {"a book",
       {"I have leaves, but I am not a tree", "I have a spine and cannot stand up straight",
        "I tell the same story to everyone",
        "You open me with your hands and enter with your eyes"}},
      {"a glove",
       {"I have five fingers and no bones", "I am lonely without my brother",
        "I am full by day and empty by night in winter",
        "Lose one of me, and the other is no use"}},
      {"a broom",
       {"I dance across the floor and gather as I go", "I live in a corner and have only one leg",
        "I eat dust and never grow fat", "I have stiff hair and it always points down"}},
      {"a mirror",
       {"I show you to yourself", "If you smile at me, I smile back",
        "I am never wrong, except that left is right", "I have seen everyone and remember nobody"}},
      {"a ladder",
       {"I have many steps and take none", "I lean on walls because I cannot stand alone",
        "I help you up and help you down", "The thatcher loves me"}},
      {"a mill wheel",
       {"I turn and turn and never get anywhere", "I drink all day and am always thirsty",
        "I walk in the water and stay by the wall", "Without me there is no flour"}},
      {"a lantern",
       {"I am a small house with a star inside",
        "I go out at night, but if I go out, you cannot see",
        "I swing from a hand or hang from a hook", "I have glass walls and a hot heart"}},
      {"a fishing net",
       {"I am made of holes tied together", "I let the water go and keep the silver",
        "I am mended more often than I am washed", "I come home wet and sleep on the wall"}},
      {"a boot",
       {"I am a twin, and we take turns to go first", "I have a tongue and say nothing",
        "I know every puddle by heart", "At night I stand by the door"}},
      {"a quilt",
       {"I am a field that lies on a bed", "I am made of many old coats",
        "I keep you warm and have no fire", "Every patch of me has its own story"}},
      {"a scarecrow",
       {"I stand in the field and never sow", "I wear a coat and feel no cold",
        "I am stuffed with straw, and the crows laugh at me", "I have arms and never wave"}},
      {"a key",
       {"I am small, but I decide who comes in", "I have teeth and never bite",
        "I turn once and then I rest", "I am always in the last pocket you look in"}},
      {"smoke",
       {"I am born in the fire and leave by the roof", "I am grey and weigh nothing",
        "The wind tells me where to go", "I show you from far away that somebody is at home"}},
      {"the tide",
       {"I come in twice a day and never knock", "I carry boats out and bring them back",
        "I wash the beach and never dry it", "The moon holds my rope"}},
      {"yarn",
       {"I was on a sheep, and now I am on a spindle", "I can be wound, but I am not a clock",
        "The cat thinks that I am a toy", "I am long and soft, and I may become a sock"}},
      {"an umbrella",
       {"I go up when the rain comes down", "I am a roof that you carry",
        "I have ribs but no heart", "On fine days I stand in a corner and am forgotten"}},
  };
  return kRiddles;
}

}  // namespace

void add_riddles(Grammar& g) {
  g.add("rid_title",
        {"What am I?", "A riddle from {village}", "A riddle for {child}", "{person} asks",
         "A riddle told by {landmark}", "Guess", "@ {season} riddle", "A riddle for {day}"});
  g.add("rid_ask", {"What am I?", "Who am I?", "Can you guess what I am?", "Say my name.",
                    "Tell me what I am."});
  g.add("rid_reply", {"Answer: {answer}.", "The answer is {answer}.",
                      "\"You are {answer},\" said {child}.", "{child} knew it at once: {answer}.",
                      "{person} thought for a while and said, \"{Answer}!\"",
                      "Nobody could guess. It was {answer}."});
}

std::string make_riddle(Grammar& g) {
  const Riddle& riddle = riddles()[g.rng().below(riddles().size())];
  std::vector<const char*> clues = riddle.clues;
  for (std::size_t i = clues.size() - 1; i > 0; --i)
    std::swap(clues[i], clues[g.rng().below(i + 1)]);
  clues.resize(std::min<std::size_t>(clues.size(), 2 + g.rng().below(3)));
  g.bind("answer", riddle.answer);
  std::string text = "{rid_title}\n";
  for (const char* clue : clues) text += std::string(clue) + ". ";
  return g.expand(text + "{rid_ask}\n{rid_reply}");
}

}  // namespace twill_corpus
