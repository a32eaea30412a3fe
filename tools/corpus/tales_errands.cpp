// SPDX-License-Identifier: Apache-2.0
// More plots for tales, and the morals that fit them. A plot binds {moral} to one of the moral
// lists, so that what people say at the end has to do with what happened.
#include "pieces.h"

namespace twill_corpus {
namespace {

void add_morals(Grammar& g) {
  g.add("moral_look",
        {"look where you stand before you look far away",
         "the thing you seek is seldom in the last place, because you never get that far",
         "follow the water and you will find the stone",
         "two eyes are good, and a second look is better",
         "whoever asks why gets there before whoever runs",
         "sit still, and the field will tell you", "a puzzle is only a door with a small handle"});
  g.add("moral_share",
        {"half a plum in company is sweeter than a whole one alone",
         "a fence keeps out more friends than thieves", "many thin purses make one fat supper",
         "four hands lift what two hands only scratch", "what you give away cannot be stolen",
         "the warmest fire is the one with the most chairs", "it takes two ends to carry a plank"});
  g.add("moral_learn",
        {"a mistake is a teacher that sends no bill", "open your eyes before you open your mouth",
         "the hand learns what the ear forgets", "first sweep, then saw",
         "pride climbs the ladder and forgets the wall", "nobody is born with a straight seam",
         "the best boast is a finished job"});
  g.add("moral_honest",
        {"a coin that is not yours weighs more than ten that are",
         "a clean ledger makes a soft pillow", "the truth needs no pocket to hide in",
         "give back early, and sleep late", "an honest face is the best signboard",
         "what is found is only borrowed until someone asks"});
  g.add(
      "moral_slow",
      {"the long road has more benches", "ask three people, and save your boots",
       "he who greets everyone is never lost", "the river takes its time and still gets to the sea",
       "the short way is short only on the map", "a quick step finds the quick puddle"});
}

void add_errand_plots(Grammar& g) {
  g.add(
      "tale",
      {// Something is lent on and on, and comes back better.
       "{$h:person}{$a:person}{$b:person}{$f:person}{$v:village}{$moral:moral_share}{$t:lendable}["
       "The {t} that went visiting|Who has the {t}?|{h} lends @ {t}]\n"
       "{when}, {h} the {h.trade} went to fetch {h.his} {t} and remembered that {h.he} had lent it "
       "to {a}. {walk}.\n"
       "\"The {t}?\" said {a} the {a.trade}. \"I only needed it [for an hour|to reach the loft|on "
       "{day}]. {b} has it now.\" So {h} went to {b.place}. \"The {t}?\" said {b}. \"I was "
       "{b.working}, and I was finished with it. {f} came by and asked so nicely.\" {detail}.\n"
       "{h} was [tired|hungry|cross] by the time {h.he} came to {f.place}. \"You are just in "
       "time,\" said {f} the {f.trade}, and brought out the {t}. {h} hardly knew it. {a} had "
       "[mended the handle|oiled the hinge]. {b} had [painted it {colour}|sharpened the edge]. And "
       "{f} had [carved {h}'s name into the side|rubbed it with wax until it shone].\n"
       "\"I meant to scold you all,\" said {h}, \"but I think that I shall lend it out "
       "again.\"\n{lesson}.",

       // Bright things vanish; the thief has wings.
       "{$h:person}{$f:person}{$a:person}{$c:child}{$v:village}{$moral:moral_look}{$t:shiny}{$u:"
       "shiny}[The thief of {v}|{c} finds the thief|Nothing that shines is safe]\n"
       "First it was {h}'s {t}. Then it was {a}'s {u}. By the end of the week, {smallnum} things "
       "were missing in {v}, and everyone had begun to lock the door. \"It is a stranger,\" said "
       "{a} the {a.trade}. \"It is a neighbour,\" said {f} the {f.trade}, and looked at {h} in a "
       "way that {h} did not like.\n"
       "{c} was only a small {c.kid}, but {c.he} noticed things. \"Everything that is gone was "
       "[bright|shiny],\" said {c}. \"And everything was near an open window.\" {detail}.\n"
       "{when}, {c} put a new tin spoon on the window ledge of {h.place} and hid {hiding}. For an "
       "hour nothing happened. Then there was a flutter of black wings. {c} ran after the bird, "
       "past {landmark} and past {landmark}, until it flew into a hole in the old tower.\n"
       "{h} fetched the long ladder. In the nest lay the {t} and the {u}, and a great many buttons "
       "besides. {f} turned as red as a beetroot and [begged {h}'s pardon|baked {h} a cake|could "
       "not look at {h}]. The jackdaw was allowed to keep the spoon.\n{lesson}.",

       // The child teaches the old hand to read.
       "{$h:layperson}{$c:child}{$f:person}{$v:village}{$moral:moral_learn}{$w:village}[The letter "
       "that nobody read|{h} learns to read|What the letter said]\n"
       "{h} the {h.trade} had a letter from {w}. It had come {smallnum} years ago, and {h} kept it "
       "in a tin under the bed, because {h.he} could not read and was ashamed to say so.\n"
       "{when}, {c} came to {h.place} to [wait for the rain to stop|buy some {h.goods}|return a "
       "basket], with a schoolbook under {c.his} arm. {h} looked at the book for a long time. "
       "\"What does that say?\" {h.he} asked at last. \"That is an A,\" said {c}. \"It looks like "
       "[a tent|a ladder|the end of a roof].\"\n"
       "After that {c} came every {day}. In return, {h} showed {c.him} how to use the {h.tool}. By "
       "{month} {h} could read the sign over the inn. By {month} {h.he} could read the almanac. "
       "{detail}.\n"
       "One night {h} took out the tin and opened the letter. It was from {f}, an old friend. "
       "\"Come and see me when you can,\" it said. \"There is no hurry.\" {h} laughed and wiped "
       "{h.his} eyes, and the next day {h.he} set out.\n{lesson}.",

       // The well runs dry.
       "{$h:person}{$f:person}{$v:village}{$moral:moral_share}{$a:animal}[The dry well|Water for "
       "{v}|The summer of the dry well]\n"
       "At the end of a long dry summer, the bucket came up empty from the well at {v}. People "
       "stood round it and looked down, as if looking would help. \"We must dig deeper,\" said {h} "
       "the {h.trade}. \"We must dig somewhere else,\" said {f} the {f.trade}.\n"
       "So they dug in two places. {h} dug [by {landmark}|behind {h.place}], and {f} dug [under "
       "the elm|behind {f.place}], and half the village helped the one and half the village helped "
       "the other. {detail}. On the {ordinal} day both holes were as deep as a house and as dry as "
       "flour. {mood}.\n"
       "Then somebody noticed the {a}. It was standing halfway between the two holes, [licking the "
       "stones|scratching in the grass|with mud on its nose]. \"It is cleverer than we are,\" said "
       "{f}. They put down their spades, walked over, and dug together.\n"
       "The water came up cold and clear before dark. {h} gave the first cup to the {a}, the "
       "second to {f}, and drank the third {h.self}.\n{lesson}.",

       // A sail woven for a storm.
       "{$h:a_weaver}{$f:a_sailor}{$v:village}{$moral:moral_slow}{$k:colour}[The {k} sail|A sail "
       "for {f}|How {h} made a sail]\n"
       "{f} the sailor needed a new sail, and needed it soon. \"Can you make it in {smallnum} "
       "days?\" asked {f}. {h} the weaver shook {h.his} head. \"I can make a bad one in {smallnum} "
       "days,\" said {h}, \"or a good one in a month.\"\n"
       "{f} grumbled but waited. Every day {f.he} came to look. {h} chose the thread, and wound "
       "it, and threw away whatever was weak. {h.He} put a thin {k} line along the edge, [for "
       "luck|so that it could be seen from far away|because it looked well]. {detail}.\n"
       "When the month was over, {f} sailed out of {v} with three other boats. {f} had hardly "
       "passed the point when the storm came. The first boat lost its sail with a noise like a "
       "gun. The second and the third had to turn back. But the sail with the {k} line only "
       "hummed.\n"
       "{f} towed the first boat home. \"What do I owe you?\" {f.he} asked {h} that night. \"You "
       "paid me already,\" said {h}. \"You waited.\"\n{lesson}.",

       // A song that lacked its last line.
       "{$h:person}{$f:person}{$c:child}{$v:village}{$moral:moral_share}[The song without an "
       "end|The last line|{h}'s song]\n"
       "{h} the {h.trade} was always singing while {h.he} was {h.working}, and it was always the "
       "same song. It had {smallnum} verses, and it stopped in the middle of the last one. \"How "
       "does it end?\" people asked. \"I do not know,\" said {h}. \"My {h.kin} never told me.\"\n"
       "{when}, {f} the {f.trade} said, \"It ought to end with [the sea|a wedding|a joke].\" "
       "\"No,\" said someone at the inn, \"it ought to end with [a storm|supper|a long journey].\" "
       "Soon all of {v} was arguing about it. {detail}.\n"
       "Then an old pedlar came along the road past {landmark}, singing to the donkey. It was the "
       "same song. Everyone ran to the window. The pedlar sang the first verse and the second, and "
       "came to the last one, and stopped. \"How does it end?\" cried {h}. \"I was hoping that you "
       "would know,\" said the pedlar.\n"
       "So they sat down together and made an ending. {f} found the rhyme, {c} found the tune, and "
       "{h} sang it first. It was [about all of them|short and rather silly|the best part of the "
       "song].\n{ending}.",

       // A scarecrow that got cold.
       "{$c:child}{$h:person}{$f:person}{$v:village}{$moral:moral_share}{$k:colour}[The "
       "scarecrow's coat|{c} and the scarecrow|A coat for the scarecrow]\n"
       "In the field by {landmark} stood a scarecrow without a coat. {c} passed it every day on "
       "the way to school. \"It must be cold,\" said {c}. \"It is made of straw,\" said {c.his} "
       "{c.kin}. {c} did not think that this was an answer.\n"
       "{when}, {c} asked {h} the {h.trade} for a few scraps of cloth. \"What for?\" asked {h}. "
       "\"For a friend,\" said {c}. {f} the {f.trade} gave some thread and {smallnum} odd buttons. "
       "{c} sewed all week, and the stitches were as long as worms. {detail}. On {day} the "
       "scarecrow had @ {k} coat.\n"
       "That night it snowed, and {f} lost the road on the way home to {v}. Everything was white. "
       "{f} [walked in circles|was nearly asleep on {f.his} feet]. Then {f.he} saw something {k} "
       "in the middle of the field, and {f.he} knew those buttons. From the scarecrow it was only "
       "a hundred steps to the lane.\n"
       "\"Who would put a coat on a scarecrow?\" people said. \"Somebody sensible,\" said "
       "{f}.\n{lesson}."});
  g.add("lendable", {"ladder", "wheelbarrow", "saw", "handcart", "hay rake", "pair of shears",
                     "wash tub", "garden bench", "toolbox"});
  g.add("shiny",
        {"silver thimble", "brass bell", "glass marble", "iron key", "pewter spoon", "copper penny",
         "wedding ring", "pair of spectacles", "belt buckle", "tin whistle"});
}

}  // namespace

void add_errand_tales(Grammar& g) {
  add_morals(g);
  add_errand_plots(g);
}

}  // namespace twill_corpus
