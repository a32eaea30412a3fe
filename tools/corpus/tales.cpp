// SPDX-License-Identifier: Apache-2.0
// Plots for short tales. {h} is the hero, {f} the friend, {c} a child, {v} the village; every plot
// binds them silently in its title line.
#include "pieces.h"

namespace twill_corpus {
namespace {

void add_craft_plots(Grammar& g) {
  g.add(
      "tale",
      {// Something is lost, and found where nobody looked.
       "{$moral:moral_look}{$h:person}{$f:person}{$v:village}{$t:thing}[The lost {t}|{h} and the "
       "{t}|Where {h} lost the {t}]\n"
       "{when}, {h} the {h.trade} of {v} woke up and found that {h.his} {t} was gone. {detail}. "
       "{h} looked {hiding} and {hiding}, and even {hiding}, but the {t} was not there.\n"
       "\"[Somebody has taken it|A thief has been here|It must have fallen in the river],\" said "
       "{h}. "
       "{mood}. {walk}.\n"
       "At {f.place}, {f} the {f.trade} was {f.working}. \"When did you last see it?\" asked {f}.\n"
       "\"[Yesterday, when I was {h.working}|On {day}, I think|Before supper],\" {said} {h}.\n"
       "\"Then go back and do [exactly what you did then|the same thing again],\" said {f}. So {h} "
       "went home and began "
       "{h.working}, and after a while {h.he} reached for the {h.tool}. There, {hiding}, lay the "
       "{t}. "
       "[{h.He} had put it there {h.self}.|It had been there all the time.]\n{lesson}.",

       // A chain of swaps that ends where it began.
       "{$h:person}{$a:person}{$b:person}{$f:person}{$v:village}{$t:thing}{$u:thing}{$w:thing}[A "
       "day of trading|What {h} got for the {t}|Three swaps in {v}]\n"
       "{h} the {h.trade} had @ {t} and did not need it. {when}, {h.he} took it to the market in "
       "{v}.\n"
       "First {h.he} met {a} the {a.trade}. \"I have always wanted @ {t},\" said {a}. \"I will "
       "give you my {u} for it.\" "
       "{h} [liked|admired] the {u}, and so they shook hands.\n"
       "Next {h.he} met {b} the {b.trade}, who looked at the {u} for a long time. \"[My {b.kin} "
       "had one just like that|I need one for my work],\" "
       "said {b}. \"Will you take this {w}?\" {h} took the {w}, for it was [lighter to "
       "carry|prettier than the {u}|rather useful].\n"
       "{detail}. By {landmark} sat {f} the {f.trade}, looking [sad|cold|tired]. \"[I have nothing "
       "left to sell|Nobody has bought my {f.goods}],\" said {f}. "
       "{h} gave {f.him} the {w} and asked for nothing.\n"
       "When {h} came home in the evening, there was a parcel on the step. Inside lay [some "
       "{food}|a jar of honey|a pair of warm socks] and a note from {f}. "
       "\"This was a good day's trading,\" said {h}.\n{ending}.",

       // A contest that becomes a partnership.
       "{$h:person}{$f:person}{$v:village}{$t:thing}The contest [at {v}|of {h} and {f}|for the "
       "{t}]\n"
       "{h} the {h.trade} and {f} the {f.trade} could never agree about who worked harder. "
       "\"I {h.worked} before you had opened your shutters,\" said {h}. \"And I {f.worked} long "
       "after you had gone to bed,\" said {f}.\n"
       "{when}, the people of {v} grew tired of this. They hung @ {t} on a pole by {landmark}. "
       "\"Whoever [does more in one day|makes the better gift for the village] may have it,\" they "
       "said.\n"
       "All day long {h} worked with {h.his} {h.tool}, and all day long {f} worked with {f.his} "
       "{f.tool}. {detail}. "
       "At noon {h} had {n:smallnum} {h.goods} and {f} had {n} {f.goods}. At sunset they were "
       "still even.\n"
       "Then {h} ran out of {x:spare}, and {f} ran out of light. {mood}. \"I have {x} to spare,\" "
       "said {f}. "
       "\"And I have a lamp,\" said {h}. So they finished the work together, and nobody could say "
       "whose it was.\n"
       "They hung the {t} [halfway between {h.place} and {f.place}|over the village well]. "
       "{ending}.",

       // An apprentice learns by mistakes.
       "{$moral:moral_learn}{$h:person}{$c:child}{$f:person}{$v:village}{$k:cloth}{c} learns [a "
       "trade|to wait|from {h}]\n"
       "{c} was {smallnum} weeks into {c.his} time as an apprentice to {h}, the {adj_person} "
       "{h.trade} of {v}. "
       "\"When may I use the {h.tool}?\" asked {c} every morning. \"When you have learned to "
       "[sweep|watch|wait],\" said {h} every morning.\n"
       "{when}, {h} had to visit {f} at {f.place}. As soon as the door was shut, {c} picked up the "
       "{h.tool}. {detail}. "
       "It looked so easy. But [the {h.tool} slipped|{c} pulled too hard|{c.he} was looking out of "
       "the window], and in a moment {a_mishap}.\n"
       "{c} tried to hide the damage under a piece of {k}. When {h} came home, {h.he} lifted the "
       "{k} and said nothing at all. That was worse than shouting.\n"
       "\"I did it,\" said {c} at last. \"I am sorry.\"\n"
       "{h} pulled up a second stool. \"I did the same thing at your age,\" {h.he} said. \"Come "
       "here. Now that you know how it goes wrong, I can show you how it goes right.\"\n"
       "{lesson}.",

       // A tool breaks, the friend's craft mends it.
       "{$h:person}{$f:person}{$v:village}The broken {h.tool}\n"
       "{when}, the {h.tool} of {h} the {h.trade} broke in two. {h} had been {h.working} since "
       "dawn, and there were still {smallnum} orders to fill. {mood}.\n"
       "\"I could buy a new one,\" {h.he} thought, \"but [the market is not until {day}|the purse "
       "is empty|this one belonged to my {h.kin}].\" {walk}.\n"
       "{f} the {f.trade} turned the two pieces over and over. \"I know nothing about "
       "{h.working},\" {f.he} said, \"but I know about {f.working}, and a join is a join.\" "
       "{f.He} fetched [glue and a clamp|a strip of leather|some waxed thread|a little copper "
       "ring] and set to work. {detail}.\n"
       "When it was done, the {h.tool} was [stronger than before|a little crooked, but sound|as "
       "good as new]. \"What do I owe you?\" asked {h}. "
       "\"[Some of your {h.goods}, when they are ready|Nothing, but tell me a story|A plate of "
       "{food}],\" {said} {f}.\n{ending}.",

       // The gift made in secret.
       "{$h:person}{$f:person}{$v:village}{$k:colour}[The secret of {h.place}|A gift for {f}|The "
       "light in {h.place}]\n"
       "For {smallnum} nights there had been a light in {h.place} long after everyone in {v} had "
       "gone to bed. \"What is {h} doing in there?\" people asked. "
       "\"[Counting money|Talking to owls|Building a boat],\" said one. \"[Sleeping with the lamp "
       "lit|Writing a long letter|Hiding from the cold],\" said another.\n"
       "Only little {c:child} dared to look through the keyhole. {c} saw {h} bent over {h.his} "
       "work, with @ {k} thread between {h.his} teeth. {c} promised not to tell.\n"
       "Now {f} the {f.trade} had been ill since {month}, and {f.his} room was cold. {when}, {h} "
       "knocked at {f.his} door. \"I have made you something,\" {h.he} said, and unrolled a great "
       "{k} quilt. "
       "On it were {landmark} and {landmark}, and {f.place} too, all sewn in small neat stitches.\n"
       "{f} looked at it for a long time. \"You have put the whole valley on my bed,\" {f.he} "
       "said. {ending}.",

       // A boast and its price.
       "{$moral:moral_learn}{$h:person}{$f:person}{$v:village}[The boast of {h}|{h} the boaster|A "
       "very large promise]\n"
       "{$d:boast}Nobody in {v} could {d} like {h} the {h.trade}, and nobody knew it better than "
       "{h}. "
       "\"I could do it [with my eyes shut|standing on one leg|in my sleep],\" {h.he} told "
       "everyone at the inn. {detail}.\n"
       "{when}, {f} the {f.trade} put down {f.his} cup. \"Show us, then,\" {f.he} said. "
       "\"Tomorrow, by {landmark}.\"\n"
       "The whole village came. {h} [tied @ {colour} scarf over {h.his} eyes|stood on one leg|lay "
       "down and shut {h.his} eyes] and began. "
       "At first it went well enough, and people clapped. Then @ {animal} [ran between {h.his} "
       "feet|sneezed|sat down on {h.his} hat], and {d.fail}.\n"
       "There was a silence. Then {h} began to laugh, and everybody laughed with {h.him}. \"{f},\" "
       "{h.he} said, \"I can do it very well with my eyes open.\" "
       "\"We know,\" said {f}. \"That is why we came.\"\n{lesson}."});
  g.add("a_mishap",
        {"the whole bench tipped over with a crash", "a pot of blue dye ran across the floor",
         "the thread snapped and the weights came down like hail",
         "a shelf of jars slid slowly to the ground", "the work of three days was lying in pieces",
         "there was flour on everything, even on the ceiling",
         "the best bowl in the room was in two pieces", "the finest thread was nothing but knots",
         "the hens got in and walked all over it", "a long rip went from one end to the other"});
  g.add("boast", {"carry eggs;fail=there was egg on everybody's shoes",
                  "walk along a wall;fail=down {h.he} went into the nettles",
                  "tie knots;fail={h.he} was tied to the gatepost by both hands",
                  "pour milk;fail=the milk went into {h.his} own boots",
                  "climb a ladder;fail={h.he} came down much faster than {h.he} had gone up",
                  "stack cups;fail=forty cups came down like rain",
                  "thread a needle;fail={h.he} had sewn {h.his} sleeve to {h.his} trousers",
                  "balance a plate;fail=the plate rolled away down the hill",
                  "roll a barrel;fail=the barrel went into the duck pond with a great splash",
                  "juggle turnips;fail=the last turnip landed on {h.his} own head"});
}

void add_water_plots(Grammar& g) {
  g.add(
      "tale",
      {// Fog at sea, a sound leads home.
       "{$h:layperson}{$f:person}{$v:village}{$s:fog_sound}[The fog off {v}|Lost in the fog|{h} "
       "and the fog]\n"
       "{when}, {h} took the little boat [{boat}|called {boat}] out of the harbour at {v}. {h.He} "
       "was no sailor but wanted [a few fish for supper|to visit {h.his} {h.kin} across the bay|to "
       "see the seals on the rocks]. "
       "The sea was [flat|grey|as smooth as oiled silk], the gulls were [quiet|far away|sitting on "
       "the water], and then, all at once, the fog came down.\n"
       "{h} could not see the land. {h.He} could not see the end of {h.his} own oar. {mood}. \"If "
       "I row the wrong way,\" {h.he} thought, \"I shall row all night.\"\n"
       "On shore, {f} the {f.trade} looked at the empty mooring and understood. {f.He} ran to [the "
       "end of the pier|the harbour wall|the watch tower|the edge of the rocks] and began to {s}. "
       "{f.He} did it [until {f.he} was out of breath|for an hour and did not stop|slowly and "
       "steadily, as if {f.he} had all the time in the world].\n"
       "Out in the grey, {h} lifted {h.his} head. There it was, faint and far off. {h.He} turned "
       "the boat toward the sound and pulled. When the keel touched the sand, {f} was [still at "
       "it|tired and smiling|waiting with a dry coat].\n"
       "\"How did you know where I was?\" asked {h}. \"I did not,\" said {f}. \"But you knew where "
       "I was.\"\n{ending}.",

       // The mill wheel stops.
       "{$moral:moral_look}{$h:layperson}{$f:person}{$v:village}{$b:blocker}[The wheel that would "
       "not turn|Why the mill stood still|The quiet mill]\n"
       "{when}, the mill wheel at {v} stopped turning. The miller looked at the stones, and the "
       "stones were sound. The smith looked at the axle, and the axle was straight. {detail}. "
       "\"No wheel, no flour,\" people said. \"No flour, no bread.\"\n"
       "{h} the {h.trade} knew nothing about mills, but {h.he} was @ {adj_person2} sort of person, "
       "and {h.he} liked to find out why. {walk}. Then {h.he} followed the stream up the hill, "
       "past {landmark}, farther than anyone else had gone.\n"
       "There, where the stream was narrow, {h} found {b}. The water was running off sideways into "
       "a field. \"So that is it,\" said {h}. {h.He} went back for {f}, and the two of them "
       "[worked until dark|pulled and pushed and got very wet|dug for half a day].\n"
       "With a sigh, the water went back to its old bed. Down in the valley the wheel gave a "
       "groan, then a creak, and then it turned. [The bakers cheered.|There was bread in {v} by "
       "morning.|The miller rang the bell.]\n{lesson}.",

       // The flood and the bridge.
       "{$h:person}{$f:person}{$v:village}[The bridge at {v}|Two sides of the river|How the bridge "
       "was built]\n"
       "After the flood there was no bridge at {v}. {h} the {h.trade} lived on one bank, and {f} "
       "the {f.trade} lived on the other. "
       "They used to share {food} every {day}. Now they could only wave.\n"
       "{when}, {h} tied a string to an arrow and shot it across the water. {f} caught the string. "
       "To the string {h} tied a cord, and to the cord {h} tied a rope, and {f} pulled them over "
       "one after the other. "
       "\"Now we have a rope,\" shouted {f}. \"Then we have the beginning of a bridge,\" shouted "
       "{h}.\n"
       "The neighbours came to watch, and after a while they came to help. {person} brought "
       "planks. {person} brought nails. Little {c:child} brought {food}, which was [just as "
       "important|the best idea of all]. {detail}.\n"
       "On the {ordinal} day, {h} and {f} walked toward each other from the two ends and met in "
       "the middle. It was {day}, so they sat down right there and had their supper.\n{ending}.",

       // Rescued animal returns the favour.
       "{$h:person}{$f:person}{$v:village}{$a:animal}[The {a} of {v}|{h} and the {a}|What the {a} "
       "remembered]\n"
       "{when}, {h} the {h.trade} was on the way home from {h.place} when {h.he} heard a small "
       "sound near {landmark}. It was @ {a}, caught in [a tangle of old rope|the brambles|a broken "
       "fence|a ditch full of mud].\n"
       "\"Hold still,\" said {h}. It took a long time, and {h} tore {h.his} {adj_thing} coat, but "
       "at last the {a} was free. It looked at {h} once and was gone.\n"
       "Months went by. {detail}. Then, one night, {p:trouble}. {mood}. Just then something "
       "[tugged at {h.his} sleeve|made a noise outside|moved in the dark]. It was the {a}. "
       "It {p.help}, and so all was well.\n"
       "\"Animals forget,\" people said. \"Not that one,\" said {h}, and every {day} after that "
       "{h.he} left a little {food} by {landmark}.\n{ending}.",

       // The message in the bottle or the kite.
       "{$c:child}{$d:child}{$v:village}{$w:village}{$h:person}{$f:person}{$k:colour}[A letter by "
       "water|{c} writes to the river|The {k} bottle]\n"
       "{c} was @ {c.kid} who lived in {v}, close to the river. {when}, {c.he} wrote on a scrap of "
       "paper: \"[What is it like where you are?|Who lives down the river?|What do you eat for "
       "breakfast?]\" "
       "{c.He} put the paper into @ {k} bottle, pushed in the cork, and threw it from the bridge.\n"
       "The bottle floated past {landmark} and past {landmark}. It spent a whole night among the "
       "reeds. @ {animal} sniffed at it and went away. In the end it bumped against the steps at "
       "{w}, where {d} was [fishing|washing turnips|feeding the {animals}].\n"
       "{d} read the letter and thought hard about the answer. But a river only runs one way. So "
       "{d} gave the reply to {h} the {h.trade}, who was going up the valley to sell {h.goods}, "
       "and {h} gave it to {f} the {f.trade}, who knew {c}'s {c.kin}.\n"
       "\"[It is much like where you are, but wider|I live down the river|We have {food}],\" said "
       "the letter. \"Please send another bottle. We used the first one for a [flower|candle].\" "
       "{c} laughed and went to look for paper. {detail}."});
  g.add("fog_sound", {"beat an iron pot with a spoon", "ring the old hand bell", "blow a cow horn",
                      "sing the loudest song {f.he} knew", "bang two planks together",
                      "beat a drum", "play the same three notes on a whistle"});
  g.add("boat", {"Patient Anna", "Grey Gull", "Second Helping", "Salt Herring", "Morning Star",
                 "Lucky Button"});
  g.add("blocker",
        {"a fallen willow across the water", "a dam that two beavers had built",
         "a heap of stones brought down by the rain", "an old gate wedged between the banks",
         "a hay cart lying on its side", "a great raft of dead leaves"});
  g.add("adj_person2", {"patient", "curious", "stubborn", "careful", "thoughtful", "dreamy"});
  g.add("ordinal", {"third", "fourth", "fifth", "sixth", "seventh", "ninth", "tenth", "twelfth"});
  g.add("spare", {"string", "nails", "water", "wax", "glue", "chalk", "soap", "tar"});
  g.add("trouble",
        {"{h} lost the path in the snow and could not see a single light;help=[led {h.him} along a "
         "path {h.he} had never seen|went ahead, step by step, as far as the first house]",
         "a spark fell on the thatch while everyone was asleep;help=[made such a racket that the "
         "whole street woke up|would not be quiet until somebody fetched water]",
         "the river rose and covered the lower road;help=[stood where the ground was high, and {h} "
         "followed|would not let {h.him} take another step that way]",
         "a thick fog hid the edge of the quarry;help=[stood in {h.his} way and would not "
         "move|turned {h.him} back just in time]",
         "somebody left the gate open and all the {animals} wandered off;help=[found them one by "
         "one and drove them home|had already gathered them behind the barn]",
         "{h} slipped on the ice and could not get up;help=[ran to the nearest door and fetched "
         "help|lay down close to {h.him} and kept {h.him} warm until help came]"});
}

}  // namespace

void add_tales(Grammar& g) {
  add_craft_plots(g);
  add_water_plots(g);
}

}  // namespace twill_corpus
