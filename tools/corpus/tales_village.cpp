// SPDX-License-Identifier: Apache-2.0
// Plots for tales of neighbours: guests, quarrels, winters and fairs.
#include "pieces.h"

namespace twill_corpus {

void add_village_tales(Grammar& g) {
  g.add(
      "tale",
      {// A stranger comes in the rain.
       "{$h:person}{$f:person}{$v:village}[The stranger at {v}|A guest in the rain|The visitor who "
       "asked for {thing.s}]\n"
       "{when}, a stranger came to {v}. {detail}. The stranger's coat was [wet through|the colour "
       "of mud|patched with {smallnum} kinds of cloth], and on the stranger's back was a long "
       "box.\n"
       "At the inn there was no bed. At the big house there was no answer. But {h} the {h.trade} "
       "opened the door at once. \"[Come in before the rain does|There is not much, but it is "
       "warm],\" {h.he} said, and put {food} on the table.\n"
       "The stranger ate slowly and asked many questions. \"Who is the {f.trade} in this "
       "village?\" \"That would be {f},\" said {h}. \"And who is the happiest?\" {h} had to think. "
       "\"[It changes|Whoever is eating your supper|The baker's cat],\" {h.he} said, and the "
       "stranger laughed.\n"
       "In the morning the stranger opened the long box and took out [a fiddle|a telescope|a roll "
       "of maps|a folding loom|a row of tiny puppets]. [There was never such a morning in "
       "{v}.|Everyone forgot to go to work.] When the stranger had gone, {h} found @ {thing} on "
       "the pillow.\n{ending}.",

       // The honest mistake at the market.
       "{$moral:moral_honest}{$h:person}{$f:person}{$v:village}{$n:smallnum}[One coin too many|The "
       "wrong change|{n} coins]\n"
       "{h} the {h.trade} sold {h.goods} at the market in {v} from morning until the lamps were "
       "lit. {detail}. At home {h.he} emptied {h.his} purse on the table and counted. There were "
       "{n} coins too many.\n"
       "{h} counted again. There were still {n} too many. \"Somebody has paid me twice,\" {h.he} "
       "thought. \"[Nobody would know.|I could buy a new {h.tool}.|Who would come to ask?]\" "
       "{mood}.\n"
       "Then {h.he} remembered {f}, the {f.trade}, who had paid in a hurry because [it was "
       "raining|the ferry was leaving|a child was crying]. {walk}. At {f.place}, {f} was turning "
       "out every pocket.\n"
       "\"Are you looking for these?\" asked {h}. {f} sat down on the step. \"That was the money "
       "for [the doctor|the rent|my {f.kin}'s birthday],\" {f.he} said. \"I thought I had dropped "
       "it in the river.\"\n"
       "{lesson}. {ending}.",

       // A boundary quarrel.
       "{$moral:moral_share}{$h:person}{$f:person}{$v:village}{$x:fruit}[The {x} tree|{h}, {f} and "
       "the {x} tree|A quarrel about {x.s}]\n"
       "Between the garden of {h} the {h.trade} and the garden of {f} the {f.trade} stood @ {x} "
       "tree. Its roots were on one side, but its branches leaned over the other. Every year the "
       "{x.s} fell, and every year the two neighbours quarrelled.\n"
       "\"The roots are mine,\" said {h}. \"The shade is mine,\" said {f}. {when}, {h} built a "
       "fence. The next day {f} built a higher one. {detail}.\n"
       "Then came a year when [the frost killed the blossom|the bees stayed away|it did not rain], "
       "and there was only one {x} on the whole tree. It hung exactly above the fence. Both "
       "neighbours watched it ripen. Both came out with a ladder on the same morning.\n"
       "They looked at each other over the top. {mood}. \"It would be silly,\" said {f}, \"to "
       "build a third fence.\" {h} picked the {x} and cut it in two. It was [the sweetest {x} they "
       "had ever eaten|rather sour, but neither of them said so].\n"
       "{lesson}. That winter they burned both fences to bake {baked}.",

       // Sharing in the hungry winter.
       "{$moral:moral_share}{$h:person}{$a:person}{$b:person}{$f:person}{$v:village}[The winter "
       "pot|One pot for {v}|The long snow]\n"
       "The snow came early to {v} that year and did not leave. By February the road was shut, the "
       "stream was ice, and every cupboard was nearly bare. {detail}.\n"
       "{h} the {h.trade} had only [one onion|a handful of beans|a cup of barley]. It was too "
       "little to make a meal, so {h.he} went next door. {a} the {a.trade} had only [two carrots|a "
       "bit of bacon|a jar of lentils]. That was too little as well. They went to {b}, who had "
       "only [salt|a turnip|some dried peas], and to {f}, who had nothing at all but a very large "
       "pot.\n"
       "\"Bring it here,\" said {h}. They set the pot over a fire by {landmark} and put in "
       "whatever they had. People smelled it and came out with [bowls and crusts|a bone and a "
       "leek|the last of the cabbages]. Nobody had enough, but the pot was full.\n"
       "Every evening until the thaw they lit the same fire. [{person} told stories.|{person} "
       "sang.|{person} brought a fiddle.] When spring came, they were [thin but merry|all still "
       "there|better friends than before], and {f} never got the pot quite clean again.\n{lesson}.",

       // A child's questions.
       "{$h:person}{$c:child}{$v:village}{$f:person}[{c} asks why|The {c.kid} who asked "
       "questions|Too many questions]\n"
       "\"Why is {why_q}?\" asked {c}. \"Ask {h},\" said {c.his} {c.kin}, who was busy. So {c} "
       "went to {h.place}.\n"
       "{h} the {h.trade} stopped {h.working}. \"That is a good question,\" {h.he} said. "
       "\"{why_a}.\" {c} thought about this all the way to {landmark} and back. {detail}.\n"
       "\"Is that really true?\" asked {c}. \"I do not know,\" said {h}, \"but I have never heard "
       "a better answer. Let us find out.\" They asked {f} at {f.place}. {f} put down {f.his} "
       "{f.tool}. \"I was told,\" {f.he} said, \"that {why_a_low}.\"\n"
       "Now {c} had one question and two answers. {c.He} [drew them both on the wall with "
       "chalk|told them to the {animals}|lay awake and compared them]. In the morning {c.he} came "
       "back with a third answer, which was [better than both|quite different|very long]. \"You "
       "see,\" said {h}, \"that is how it is done.\"",

       // The festival and the forgotten thing.
       "{$h:person}{$f:person}{$v:village}{$c:child}{$n:ordinal}[The lantern fair|{v} gets "
       "ready|The night of the {n} lantern]\n"
       "Every year, on the {n} night of {month}, the people of {v} hung lanterns from {landmark} "
       "to {landmark}. {h} the {h.trade} was in charge of the [lamp oil|candles|matches], {f} the "
       "{f.trade} was in charge of the [music|rope|flags], and {c} was in charge of the {food}.\n"
       "All day they worked. {detail}. [Ropes|Ladders|Benches] were carried here and there. At "
       "sunset everyone stood in the street and waited. \"Now,\" called {f}. Nothing happened. "
       "{mood}.\n"
       "\"I forgot,\" said {h} in a small voice. \"[I left everything at {h.place}|I was "
       "{h.working}, and I forgot].\" It was too late to fetch it, for the road was dark.\n"
       "Then {c} pointed to the sky. The clouds had gone, and there were more stars than anyone "
       "could count. \"Somebody remembered,\" said {c}. So they [danced under the stars|sat in the "
       "grass and ate|sang every song they knew], and it was the best lantern fair of all. "
       "{ending}.",

       // The garden that would not grow.
       "{$moral:moral_look}{$h:layperson}{$f:person}{$v:village}{$k:colour}[The empty garden|What "
       "grew in {v}|{h} plants a seed]\n"
       "Nothing would grow in the garden of {h} the {h.trade}. The [beans|peas] came up yellow. "
       "The [cabbages|lettuces] never came up at all. \"I am good at {h.working},\" said {h}, "
       "\"but the ground does not like me.\"\n"
       "{when}, {f} the {f.trade} leaned over the gate. \"What do you give it?\" asked {f}. "
       "\"[Water, every hour|Seeds, of course|A good scolding],\" said {h}. \"And what do you "
       "listen to?\" asked {f}. {h} did not understand.\n"
       "So {f} made {h} sit still on a bucket for a whole afternoon. {detail}. "
       "{$q:garden_fault}{h} noticed that {q}. {h.He} had never noticed it before.\n"
       "The next day {h} {q.fix}. In the spring there was one {k} flower. By summer there were "
       "[hundreds|so many that {h.he} gave them away in armfuls].\n{lesson}.",

       // A dream that sends someone away and home.
       "{$h:person}{$f:person}{$v:village}{$w:village}{$t:thing}[The dream of {h}|Under the "
       "{f.trade}'s floor|{h} walks to {w}]\n"
       "Three nights running, {h} the {h.trade} of {v} had the same dream. In the dream a voice "
       "said, \"Go to {w} and look for @ {t}.\" On the {ordinal} morning {h} packed some {baked} "
       "and went.\n"
       "It was a long way to {w}. {walk}. {detail}. When {h.he} came to {w} at last, {h.he} looked "
       "for the {t} everywhere, and people began to stare.\n"
       "\"What are you doing?\" asked {f}, who was the {f.trade} there. {h} told {f.him} about the "
       "dream. {f} smiled. \"If I believed in dreams,\" {f.he} said, \"I would be in {v} now, "
       "asking for @ {h.trade}. I have dreamed all week that someone there would teach me "
       "{h.working}.\"\n"
       "The two looked at each other. {mood}. \"And I,\" said {h}, \"have always wanted to learn "
       "about {f.working}.\" They sat down on the spot and began, and on the shelf behind {f}, "
       "among the {f.goods}, stood @ {adj_thing} {t}.\n{ending}.",

       // The clock or bell that was wrong.
       "{$h:person}{$f:person}{$v:village}{$n:smallnum}[The bell that rang {n}|The wrong hour|When "
       "{v} was late]\n"
       "The bell of {v} rang the hours, and everyone lived by it. {when}, it rang {n} when it "
       "should have rung one. {h} the {h.trade} ran to {h.place} without breakfast. {f} the "
       "{f.trade} shut up shop. The [school|market|ferry] closed, and the {animals} were fed "
       "twice.\n"
       "\"It is very dark for this time of day,\" said {f}. \"It is very light,\" said {h}. They "
       "met at {landmark} and argued. {detail}.\n"
       "At last they climbed the tower together. It had {n} flights of stairs. At the top, on the "
       "hammer of the bell, sat @ {animal2}, [looking pleased|fast asleep|with a nest full of "
       "young ones]. \"So you are the one who has been ringing,\" said {h}.\n"
       "They could not [bring themselves to move it|turn it out in such weather]. So for a whole "
       "month {v} had its own time. [Breakfast was at noon.|Dinner came before breakfast.|Nobody "
       "was late, because nobody knew.] {mood}. \"I shall almost miss it,\" said {f}, when the "
       "bell was right again.\n{ending}.",

       // The race of slow and quick helper.
       "{$moral:moral_slow}{$h:person}{$f:person}{$v:village}{$w:village}[The fast road and the "
       "slow road|Two ways to {w}|{h} takes the long way]\n"
       "{h} the {h.trade} and {f} the {f.trade} both had to be in {w} by nightfall. {f} was to "
       "deliver {f.goods}, and {h} was to deliver {h.goods}. \"I shall take the short road over "
       "the hill,\" said {f}, and was gone.\n"
       "{h} took the long road by the river. {detail}. At {landmark} {h.he} stopped to help "
       "{person} with a cart. At {landmark} {h.he} stopped to [drink|rest|talk to @ {child_word}]. "
       "Everyone {h.he} met had something to tell. \"[The hill road is under snow|There is a tree "
       "across the hill road|They are mending the hill road today],\" said one of them.\n"
       "Meanwhile {f} came to the top of the hill and could go no farther. {f.He} had to turn "
       "round and walk all the way back. {f.His} feet hurt. It began to rain.\n"
       "When {h} reached {w}, the lamps were being lit. An hour later {f} came in, wet to the "
       "skin. {h} had [kept a chair by the fire|saved some {food}|dried a pair of socks by the "
       "stove] for {f.him}. \"How did you know I would be late?\" asked {f}. \"I asked people,\" "
       "said {h}.\n{lesson}."});
  g.add("garden_fault", {"the wall kept off the sun;fix=[moved the beds to the other side|took "
                         "three rows of stones off the wall]",
                         "the {animals} came for the seeds;fix=[built a little fence of "
                         "sticks|hung up an old coat with its arms out]",
                         "the water ran straight down the path;fix=[made a small ditch|built a "
                         "bank of earth below the beds]",
                         "the soil was as hard as a plate;fix=[dug in leaves and old "
                         "straw|loosened it with a fork, a yard at a time]"});
  g.add("baked", {"bread", "apple cake", "plum tart", "leek pie", "potato cakes", "honey biscuits",
                  "rye rolls"});
  g.add("child_word", {"shepherd girl", "small boy", "tinker", "pedlar", "drover", "cousin"});
  g.add("animal2", {"jackdaw", "young owl", "grey cat", "pigeon", "barn owl", "squirrel"});
  g.add("why_q", {"the sea salty", "the moon sometimes thin", "the wind never tired", "wool warm",
                  "the sky blue", "a spider never stuck in her own web", "snow so quiet",
                  "bread soft inside and hard outside", "the river always going the same way",
                  "an echo never first"});
  g.add("why_a", {"{Why_a_low}"});
  g.add(
      "why_a_low",
      {"it was made in a hurry and finished with great care",
       "an old giant left it that way and nobody has dared to change it",
       "it is waiting for somebody to ask it politely", "everything has to rest on something else",
       "it learned that from the sheep", "it was once the other way round, and people complained",
       "it is older than we are and has its own reasons", "it would be lonely otherwise",
       "it has had a great deal of practice", "somebody sang to it when it was small"});
}

}  // namespace twill_corpus
