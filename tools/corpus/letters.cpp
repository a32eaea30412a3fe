// SPDX-License-Identifier: Apache-2.0
// Letters, diary pages and notices from the village board.
#include "pieces.h"

namespace twill_corpus {
namespace {

void add_letter_rules(Grammar& g) {
  g.add(
      "letter",
      {"{$h:person}{$f:person}{$v:village}From {h} to {f}\nDear {f},\n{let_open} {let_weather} "
       "{let_news} {let_news}\n{let_ask} {let_close}\n{let_sign},\n{h}",
       "{$h:person}{$f:person}{$v:village}From {h}, {h.trade}, to {f}, {f.trade}\nDear {f},\n"
       "I need {smallnum} {f.goods} before the end of {month}. [Last time you sent too few.|The "
       "last ones were excellent.|Please choose them yourself.] I will pay {coins} for the lot. "
       "{let_news}\nIn return I can offer you {h.goods}, for I have been {h.working} all {season}. "
       "{let_close}\n{let_sign},\n{h}",
       "{$c:child}{$f:person}{$v:village}From {c} to {f}\nDear {f},\nThank you for the {t:thing}. "
       "It is the {adj_thing} kind I like. I keep it {hiding}, so that nobody can take it. "
       "{let_kid} {let_kid}\nPlease come to {v} on {day}. There will be {food}, and you can see my "
       "{animal}.\nYour friend,\n{c}",
       "{$h:person}{$f:person}{$v:village}{$t:thing}An apology from {h}\nDear {f},\nI am sorry "
       "about your {t}. [I only borrowed it for an hour|I meant to bring it back on {day}|I did "
       "not see it lying there], and then {let_oops}. "
       "I ought to have told you at once, and I am ashamed that I did not.\nI will [make you a new "
       "one|mend it as well as I can|give you {coins} for it]. Until then, please take these "
       "{h.goods} and some {food}. {let_close}\n{let_sign},\n{h}",
       "{$h:person}{$f:person}{$v:village}{$w:village}From {h}, on the road\nDear {f},\nI am "
       "writing from {w}, {smallnum} days from home. {let_road} {let_road}\n"
       "Tomorrow I go on past {landmark}. I hope to be in {v} by {day}, and I am bringing @ "
       "{thing} for you and @ {thing} for your {f.kin}. {let_ask}\n{let_sign},\n{h}",
       "{$h:person}{$f:person}{$c:child}{$v:village}From {h} to {c}'s {c.kin}\nDear "
       "neighbour,\n{c} has been a [great help|good pupil|cheerful guest] at {h.place} this week. "
       "{c.He} has learned to [hold the {h.tool}|sweep the floor|tell good wool from bad] and has "
       "asked {smallnum} hundred questions. "
       "{let_news}\nI have only one complaint. {let_complaint} {let_close}\n{let_sign},\n{h}"});
  g.add("let_open",
        {"I hope this letter finds you well.", "Your letter came on {day}, and I read it twice.",
         "It is late, and the candle is short, so I shall be brief.",
         "It has been {smallnum} weeks since I heard from you.",
         "You asked me for news, and here it is.",
         "I am sitting by {landmark} with the paper on my knee.",
         "{person} is going your way tomorrow and has promised to carry this.",
         "I said I would write, and for once I am keeping my word."});
  g.add("let_weather",
        {"Here in {v} it has rained for {smallnum} days.",
         "We have had [sun|wind|frost|fog] all week.", "The {fruit} trees are in flower at last.",
         "The river is [low|high|frozen at the edges], and the children are glad.",
         "It is too hot for {h.working}, but I do it all the same.",
         "The evenings are long now, and we sit outside."});
  g.add("let_news",
        {"My {animal} has learned to open the gate, and now nobody can keep it shut.",
         "{person} has built a new {thing_big}, and it leans a little.",
         "I have sold all my {h.goods} and bought @ {thing}.",
         "There was a dance at {landmark}, and I trod on everybody's feet.",
         "My {h.kin} sends you greetings and a recipe for {food}.",
         "We have painted the door {colour}, and the whole street has an opinion about it.",
         "{person} and {person} are to be married in {month}.",
         "Somebody left @ {thing} on my step, and I do not know who it was.",
         "The new {prov_maker} is [very young|rather deaf|a great talker] but works well.",
         "The roof has stopped leaking, because it has stopped raining.",
         "I broke my {h.tool} and had to borrow one.",
         "The school has {smallnum} new pupils and only one slate.",
         "Last {day} the {animals} got into the chapel.",
         "I have begun to learn the fiddle, and my neighbours have begun to go for walks."});
  g.add("let_ask",
        {"How are your {animals}?", "Have you finished the work at {landmark}?",
         "Do you still have my {thing}?", "When will you come to see us?",
         "Is it true that {person} has gone to sea?",
         "Would you send me some seeds of the {colour} beans?",
         "What is the price of {cloth} where you are?", "Did the {food} arrive in one piece?"});
  g.add("let_close", {"Write soon.", "Forgive my poor spelling.", "Do not work too hard.",
                      "Keep a chair free for me.", "I must stop, for the lamp is smoking.",
                      "Remember what we always said: {proverb_low}.",
                      "The ferry is about to leave, so I must close.",
                      "There is more to tell, but it can wait."});
  g.add("let_sign", {"Your friend", "With warm wishes", "Yours, in haste", "Your old neighbour",
                     "With love from all of us", "Always yours"});
  g.add("let_kid",
        {"I have lost a tooth and gained @ {thing}.",
         "Yesterday I counted {smallnum} {animals} in a row.", "I can nearly tie my own boots.",
         "{child} says the moon is made of flour, but I do not think so.",
         "I fell in the pond, but only up to the knees.",
         "We are learning to write long words, such as {long_word}.",
         "My {animal} is called {child}, after my cousin.",
         "I made @ {thing} out of clay, and it looks like @ {animal}."});
  g.add("long_word", {"neighbour", "umbrella", "porridge", "thunderstorm", "selvedge",
                      "caterpillar", "gooseberry"});
  g.add("let_oops", {"the {animal} sat on it", "it rolled into the river",
                     "I left it out in the rain", "somebody used it to stir the soup",
                     "it went into the oven with the bread", "a cart drove over it"});
  g.add("let_road",
        {"The inn was full, so I slept in a barn among the {animals}.",
         "At {landmark} I met a man who sold nothing but {thing.s}.",
         "The bread here is flat and tastes of smoke.",
         "I have a blister on each foot and a song in my head.",
         "People here eat {food} for breakfast.", "Nobody here has ever heard of {v}.",
         "A kind {prov_maker} gave me a ride on a load of {cloth}.",
         "The hills are so steep that the cows have short legs on one side, or so I was told.",
         "I sold {smallnum} {h.goods} and gave one away."});
  g.add("let_complaint",
        {"The cat now follows {c.him} home.", "{c.He} sings.", "There is jam on every handle.",
         "I have grown used to {c.him}, and the place will be too quiet.",
         "{c.He} has named all the {animals} after me."});
  g.add("thing_big",
        {"shed", "chimney", "boat", "henhouse", "garden wall", "gate", "staircase", "windmill"});
}

void add_diary_rules(Grammar& g) {
  g.add(
      "diary",
      {"{$d:week}{$h:person}{$v:village}{$f:person}The diary of {h}, {h.trade}\n{d.a}. "
       "{dia_weather} {dia_work}\n{d.b}. {dia_weather} {dia_event}\n{d.c}. {dia_work} {dia_event}",
       "{$d:week}{$h:person}{$v:village}{$f:person}A week at {h.place}\n{d.a}. {dia_event} "
       "{dia_feel}\n{d.b}. {dia_work}\n{d.c}. {dia_event}\n{d.e}. {dia_weather} {dia_feel}",
       "{$h:person}{$v:village}{$f:person}{h} writes at night, in {month}\n{dia_weather} "
       "{dia_work} {dia_event}\n{dia_feel} {dia_event} {dia_plan}"});
  // Four days of a week in their right order.
  g.add(
      "week",
      {"w;a=Monday;b=Tuesday;c=Wednesday;e=Friday", "w;a=Monday;b=Wednesday;c=Thursday;e=Saturday",
       "w;a=Tuesday;b=Wednesday;c=Thursday;e=Sunday", "w;a=Tuesday;b=Thursday;c=Friday;e=Saturday",
       "w;a=Wednesday;b=Thursday;c=Saturday;e=Sunday", "w;a=Sunday;b=Monday;c=Tuesday;e=Thursday",
       "w;a=Saturday;b=Sunday;c=Monday;e=Wednesday"});
  g.add("dia_weather",
        {"Rain before breakfast, sun after.", "Fog until noon.",
         "A hard frost, and the pump would not work.", "Warm and still.",
         "Wind from the sea all day.", "Snow to the top of the gate.",
         "Thunder in the night, but no rain.", "A clear sky and a great many stars."});
  g.add(
      "dia_work",
      {"I {h.worked} from morning to night and finished {smallnum} {h.goods}.",
       "Could not find my {h.tool}. Found it {hiding}.", "Sold some {h.goods} to {f} for {coins}.",
       "Cleaned out {h.place} from top to bottom.", "Taught {child} how to hold the {h.tool}.",
       "No work today, as the {animals} were loose again.", "Began a large order for {person}.",
       "Spent the whole day {h.working} and hardly looked up."});
  g.add("dia_event",
        {"{person} came by with {food}.", "Saw @ {animal} near {landmark}, and it saw me.",
         "{f} and I walked as far as {landmark} and talked about nothing at all.",
         "A pedlar came, and I bought @ {thing} that I do not need.",
         "Had a long argument with {f} about {prov_topic}. I was wrong.",
         "Heard music from {landmark} after dark.", "Burned the {food} and ate it anyway.",
         "A letter came from {village}.", "{f} has borrowed my {thing} for the third time.",
         "Planted a row of {colour} flowers by the door."});
  g.add("dia_feel",
        {"I am too tired to be clever.", "It was a good day, though I could not say why.",
         "I must learn to be more patient.", "My back hurts, but the work is right.",
         "I keep thinking of what my {h.kin} used to say: {proverb_low}.",
         "I laughed more today than in the whole of {month}.", "I miss the sea."});
  g.add("dia_plan",
        {"Tomorrow I shall mend the roof.", "Tomorrow, if it is dry, I shall go to {village}.",
         "On {day} I must remember to pay {person}.", "Next week I shall begin something new."});
}

void add_notice_rules(Grammar& g) {
  g.add("notice",
        {"{$v:village}{$t:thing}Lost near {l:landmark}\nLost on {day}, somewhere between {l} and "
         "{landmark}: @ {adj_thing} {t}. It has [a small crack|@ {colour} stripe|the letter M "
         "scratched on it|a bite taken out of it]. The finder will receive {coins} and some "
         "{food}. Please ask for {person} at the inn in {v}.",
         "{$h:person}For sale by {h}, {h.trade}\n{Smallnum} {h.goods}, [hardly used|freshly made|a "
         "little dusty], for {coins} each. Also @ {adj_thing} {thing} and @ {thing}. Come to "
         "{h.place} on {day} after {hour}. [No bargaining.|Bring your own basket.|Children and "
         "dogs are welcome.]",
         "{$v:village}Dance at {landmark}\nThe people of {v} are invited to a dance on {day} at "
         "{hour}. {person} will play the fiddle, and {person} will play the drum. There will be "
         "{food} and {food}. [Wear strong shoes|Bring a lantern|Please leave your {animals} at "
         "home].",
         "{$h:person}{$v:village}Help wanted at {h.place}\n{h}, the {h.trade} of {v}, is looking "
         "for @ {adj_person} apprentice to help with {h.working}. The work begins at {hour}. The "
         "pay is {coins} a week, with {food} on {day.s}. {not_must}",
         "{$v:village}{$l:landmark}New rules for {l}\nThe council of {v} has decided as follows. "
         "First, no {animals} are allowed at {l} after {hour}. Second, whoever breaks @ "
         "{thing_big} must mend it. Third, {not_rule}. Anyone who disagrees may come to the "
         "meeting on {day} and say so politely.",
         "{$a:animal}{$v:village}Found in {v}\nFound on {day} by {landmark}: @ {a}, quite tame and "
         "very hungry. It answers to no name that we have tried. It has already eaten some {food} "
         "and one {thing}. Will the owner please fetch it from {person} before {day}?",
         "{$h:person}{$v:village}A word of thanks\n{h} the {h.trade} thanks all the people of {v} "
         "who came to help when {not_trouble}. Special thanks go to {person}, who brought @ "
         "{thing}, and to {person}, who brought {food} for everyone. {proverb}.",
         "{$h:person}{$v:village}Lessons with {h}\nOn {day.s} at {hour}, {h} will give lessons in "
         "{h.working} to anyone who wishes to learn. The lessons cost {coins} and are held at "
         "{h.place}. Please bring @ {thing}, a clean apron, and some patience. {proverb}."});
  g.add("hour", {"six o'clock", "seven o'clock", "noon", "sunset", "four in the afternoon",
                 "half past nine", "dusk", "eight o'clock"});
  g.add("not_must", {"You must be able to count to a hundred.", "A loud voice is not needed.",
                     "Early risers are welcome.", "You need not bring your own {h.tool}.",
                     "Singing is allowed after noon."});
  g.add("not_rule", {"nobody may ring the bell for fun", "boats must be tied with a proper knot",
                     "all complaints about the weather go to the gardener",
                     "snow must be shared fairly", "lanterns must be lit before the stars are"});
  g.add("not_trouble",
        {"the roof blew off", "the cellar was full of water", "the {animals} escaped",
         "the chimney caught fire", "the cart went into the river", "the great snow came"});
}

}  // namespace

void add_letters(Grammar& g) {
  add_letter_rules(g);
  add_diary_rules(g);
  add_notice_rules(g);
}

}  // namespace twill_corpus
