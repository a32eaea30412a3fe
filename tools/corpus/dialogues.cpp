// SPDX-License-Identifier: Apache-2.0
// Little scenes, written like a play: a name, a colon, and what that person says.
#include "pieces.h"

namespace twill_corpus {
namespace {

void add_scenes(Grammar& g) {
  g.add(
      "dialogue",
      {"{$h:person}{$f:person}At {f.place}\n"
       "{h}: Good [morning|evening|day], {f}. {smalltalk}\n{f}: {smalltalk_re} What can I do for "
       "you?\n"
       "{h}: I need {n:smallnum} {f.goods}. What do they cost?\n{f}: For you, {p:price}.\n"
       "{h}: [That is too much|That is a lot]. I can give you {p.less}.\n{f}: [My children must "
       "eat "
       "too|These are the best in the valley]. Add some {food}, and we shall call it fair.\n"
       "{h}: [Done|Agreed]. {farewell}\n{f}: {farewell_re}",

       "{$c:child}{$h:person}{c} and {h} at work\n"
       "{c}: What are you doing?\n{h}: I am {h.working}.\n{c}: Is it hard?\n{h}: [Only the first "
       "hundred times|Not if you take it slowly|It is hard to start and easy to go on].\n"
       "{c}: What is that in your hand?\n{h}: This is my {h.tool}. [My {h.kin} gave it to me|I "
       "have had it for {smallnum} years|It is older than you are].\n"
       "{c}: May I try?\n{h}: [Wash your hands first|When you are a little taller|Of course. Hold "
       "it like this].\n{c}: {kid_line}\n{h}: {proverb}.",

       "{$h:person}{$f:person}{$v:village}Asking the way to {v}\n"
       "{h}: Excuse me. Is this the road to {v}?\n{f}: [It was this morning|One of them, yes|It "
       "depends how wet you want to get].\n"
       "{h}: How far is it?\n{f}: [An hour on foot|{Smallnum} miles|Longer than it looks]. Go as "
       "far as {landmark} and turn [left|right].\n"
       "{h}: And then?\n{f}: Then you will see {landmark}. Keep it on your [left|right] until you "
       "come to {landmark}.\n"
       "{h}: [Left, then right, then straight on|I think I can remember that]. Thank you.\n{f}: "
       "Mind the {animal} by the gate. {farewell}\n{h}: {farewell_re}",

       "{$h:person}{$f:person}{$t:thing}The missing {t}\n"
       "{h}: {f}, have you seen my {t}?\n{f}: Is it the {colour} one?\n{h}: No, the {adj_thing} "
       "one.\n{f}: Did you look {hiding}?\n{h}: Yes.\n"
       "{f}: Did you look {hiding}?\n{h}: Twice.\n{f}: And what is that [under your arm|in your "
       "other hand|on your head]?\n{h}: [Oh|Ah]. That is my {t}.\n{f}: {proverb}.",

       "{$h:person}{$f:person}{$x:dish}Supper at {h.place}\n"
       "{h}: Sit down, {f}. There is {x}.\n{f}: {X} again? [How lovely|I was hoping for it].\n{h}: "
       "[We had it on {day}|My {h.kin} made it]. How was your day?\n"
       "{f}: Long. I {f.worked} until my back hurt. And yours?\n{h}: I lost my {h.tool} and found "
       "it {hiding}.\n{f}: [That happens to all of us.|Again?]\n"
       "{h}: [More {x}?|Another spoonful?]\n{f}: Only a little. [Well, perhaps a little more|My "
       "plate is not very big]. {smalltalk}\n{h}: {smalltalk_re}",

       "[{$h:a_sailor}|{$h:a_miller}|{$h:a_gardener}|{$h:a_shepherd}|{$h:a_baker}][{$f:a_weaver}|{$"
       "f:a_tailor}|{$f:a_dyer}]{$k:colour}{$j:colour}Choosing a cloth\n"
       "{h}: I would like a cloth for [a coat|a curtain|a tablecloth|my {h.kin}].\n{f}: What "
       "colour?\n{h}: [I was thinking of|Perhaps] {k}.\n"
       "{f}: {K} fades in the sun. Have you thought of {j}?\n{h}: {J} makes me look "
       "[tired|pale|like a turnip]. What is that one?\n"
       "{f}: That is {cloth}, with @ {k} warp and @ {j} weft. From far away it looks [almost "
       "grey|like the sea|like a field in {month}].\n"
       "{h}: And from close by?\n{f}: From close by you can see every thread.\n{h}: I will take "
       "{smallnum} yards.\n{f}: [A good choice|You will not be sorry]. {farewell}",

       "{$c:child}{$d:child}By {landmark}\n"
       "{c}: I can see something you cannot see, and it is {k:colour}.\n{d}: Is it the "
       "[roof|door|boat]?\n{c}: No.\n{d}: Is it bigger than @ {animal}?\n"
       "{c}: [Much bigger|A little smaller|About the same].\n{d}: Is it {landmark}?\n{c}: No. Do "
       "you give up?\n{d}: Never. Is it your {k} [hat|scarf|ribbon|coat|kite|apron]?\n"
       "{c}: [Yes! How did you know?|You took a very long time.]\n{d}: {kid_line}",

       "{$h:person}{$f:person}Talking about the weather\n"
       "{h}: [Red sky this morning|The swallows are flying low|My knee hurts|The smoke is lying "
       "flat].\n{f}: Then it will {x:wx} before {day}.\n"
       "{h}: You said that last week.\n{f}: And did it {x}?\n{h}: It did, [in {village}|a "
       "little|on your own washing].\n{f}: [There you are|I am never wrong, only early].\n"
       "{h}: {smalltalk}\n{f}: {smalltalk_re} {proverb}.",

       "{$h:person}{$c:child}{$a:animal}{c} and the {a}\n"
       "{c}: {h}, may I keep @ {a}?\n{h}: Where did you find it?\n{c}: Near {landmark}. It "
       "followed me.\n{h}: [All that way|Did you give it some {food}|And who will feed it]?\n"
       "{c}: I will feed it every day, and it can sleep {hiding}.\n{h}: What does your {c.kin} "
       "say?\n{c}: [My {c.kin} said to ask you|Nothing yet|To ask you].\n"
       "{h}: Then it may stay until {day}.\n{c}: {kid_line}\n{h}: And keep it away from my "
       "{h.goods}.",

       "{$h:person}{$f:person}{$v:village}News from {v}\n"
       "{h}: Have you heard the news from {v}?\n{f}: No. What has happened?\n{h}: {News}.\n{f}: [I "
       "do not believe it|Well, well|At last]. Who told you?\n"
       "{h}: {person}, who heard it from {person}.\n{f}: [Then it must be true|Then half of it is "
       "true]. {news_re}\n{h}: I must get back to {h.working}. {farewell}\n{f}: {farewell_re}"});
}

void add_lines(Grammar& g) {
  g.add("price", {"six pence;less=four pence", "two shillings;less=eighteen pence",
                  "nine pence;less=seven pence", "a shilling;less=ten pence",
                  "three shillings;less=two shillings and a loaf",
                  "twelve pence;less=nine pence and a song", "five pence;less=three pence"});
  g.add("dish",
        {"barley bread", "onion soup", "apple cake", "bean stew", "smoked trout", "plum tart",
         "oat porridge", "leek pie", "nettle broth", "pumpkin soup", "lentil stew", "cabbage pie"});
  g.add("wx", {"rain", "snow", "blow", "thunder", "freeze"});
  g.add("smalltalk",
        {"Cold today, is it not?", "I hear the river is high again.",
         "What a fine wind for drying wool.", "The days are drawing in.",
         "Have you smelled the limes by {landmark}?", "My roof leaks again.",
         "The {animals} have been noisy all night.", "I saw a hare by {landmark}.",
         "They say the price of salt has gone up.", "The blackberries are early this year."});
  g.add("smalltalk_re",
        {"So they say.", "I noticed that too.", "It was worse last year.", "Everybody says so.",
         "I have been too busy to look.", "My {thing} tells me the same.", "Let us hope it lasts.",
         "It cannot go on for ever."});
  g.add("farewell", {"Greet your family from me.", "Mind the step.", "Until {day}, then.",
                     "Keep warm.", "Do not forget your {thing}.", "Come again soon."});
  g.add("farewell_re",
        {"I will. Goodbye.", "And you. Safe home.", "Thank you, and good luck with the {animals}.",
         "Goodbye, and stay dry.", "Until then."});
  g.add("kid_line", {"I knew it!", "I shall be very careful, I promise.",
                     "That is the best thing that has happened all week.", "You always say that.",
                     "When I am grown up, I shall have three of them.",
                     "Then I will run home and tell everybody.", "I am not tired at all.",
                     "Can we do it again tomorrow?", "My hands are clean. Well, one of them is."});
  g.add("news",
        {"the {prov_maker}'s {animal} has won a prize",
         "they have found @ {colour} door behind the old wall",
         "{person} has grown a pumpkin as big as a cart",
         "the ferry sank, but everyone walked ashore", "{person} is going to build a second mill",
         "there is a comet above {landmark}", "{person} and {person} have stopped quarrelling",
         "a whale was seen in the bay", "the well is full again after {smallnum} weeks"});
  g.add("news_re", {"I shall go and see it for myself.", "My {thing} is less strange than that.",
                    "Nothing like that ever happens here.",
                    "I wonder what the {animals} think of it.", "Somebody should write it down."});
}

}  // namespace

void add_dialogues(Grammar& g) {
  add_scenes(g);
  add_lines(g);
}

}  // namespace twill_corpus
