// SPDX-License-Identifier: Apache-2.0
// Recipes and step by step instructions.
#include "pieces.h"

namespace twill_corpus {
namespace {

void add_recipes(Grammar& g) {
  g.add(
      "recipe",
      {"{$v:rec_veg}{$w:rec_veg}{V} and {w} soup\nYou need: {smallnum} {v.many}, {smallnum} "
       "{w.many}, one onion, {rec_herb}, a jug of water and a pinch of salt.\n"
       "Peel the onion and chop it [finely|roughly]. Melt {rec_fat} in a heavy pot and cook the "
       "onion until it is [soft|golden]. Wash the {v.many} and the {w.many}, cut them into "
       "[cubes|slices|small pieces], and add them to the pot. "
       "Pour in the water. Let the soup simmer for {rec_time}, then stir in the {rec_herb_last}. "
       "{rec_serve}",
       "{$f:fruit}{$n:rec_nut}{F} cake [with {n}|from {village}|for a birthday]\nYou need: three "
       "eggs, a cup of sugar, two cups of flour, {rec_fat}, {smallnum} {f.s} and a handful of "
       "{n}.\n"
       "Beat the eggs with the sugar until the mixture is pale. Stir in the flour, a spoonful at a "
       "time. Cut the {f.s} into thin slices and [fold them in|lay them on top]. Scatter the {n} "
       "over the cake. "
       "Bake it in a [gentle|medium|steady] oven for {rec_time}. It is done when [a straw comes "
       "out clean|the top is brown|the kitchen smells of {f.s}]. {rec_serve}",
       "{$g:rec_grain}{$v:village}{G} bread [from {v}|the slow way|for a cold morning]\nYou need: "
       "four cups of {g} flour, a spoonful of yeast, a spoonful of {rec_sweet}, salt and warm "
       "water.\n"
       "Mix the yeast with the {rec_sweet_last} and a little water, and wait until it foams. Add "
       "the flour and the salt. Knead the dough for {rec_time}, until it is [smooth|as soft as an "
       "ear lobe|no longer sticky]. "
       "Cover it with a cloth and let it rise by [the stove|the window|the fire] until it is twice "
       "as big. Shape it into [a round loaf|two long loaves|{smallnum} rolls], let it rest, and "
       "bake it in a hot oven for {rec_time}. Knock on the bottom. If it sounds hollow, it is "
       "ready. {rec_serve}",
       "{$f:fruit}{F} jam\nYou need: two pounds of {f.s}, one pound of sugar, the juice of a lemon "
       "and {rec_spice}.\n"
       "Wash the {f.s}, take out the stones or pips, and cut them up. Put them into a wide pan "
       "with the sugar and leave them [overnight|for an hour]. Add the lemon juice and bring the "
       "pan to the boil, stirring all the time. "
       "Boil the jam for {rec_time}. Drop a little on a cold plate. If it wrinkles when you push "
       "it, it is done. Stir in {rec_spice_last}, fill clean jars, and close them while they are "
       "hot. {rec_keep}",
       "{$v:rec_veg}{$w:rec_veg}{V} pie [from {village}|with a lid|for two]\nYou need: {smallnum} "
       "{v.many}, two {w.many}, a cup of flour, {rec_fat}, an egg, {rec_cheese} and {rec_herb}.\n"
       "Rub the butter into the flour, add a spoonful of cold water, and press the dough into a "
       "ball. Let it rest. Meanwhile, boil the {v.many} and the {w.many} until they are tender, "
       "and drain them well. "
       "Roll out the dough and line a dish with it. Fill it with the vegetables, the "
       "{rec_cheese_last} and the {rec_herb_last}. [Cover it with a lid of dough.|Leave it open.] "
       "Brush it with the egg and bake it for {rec_time}. {rec_serve}",
       "{$h:rec_tea}{H} tea [for a cough|for cold feet|from {person}'s kitchen]\nYou need: a "
       "handful of {h}, a spoonful of {rec_sweet} and a pot of boiling water.\n"
       "Warm the pot first. Put in the {h}, pour on the water, and cover the pot. Wait for as long "
       "as it takes to [sing one song|count to two hundred|sweep the floor]. Pour the tea through "
       "a sieve and add the {rec_sweet_last}. {rec_tea_end}",
       "{$g:rec_grain}{$f:fruit}{G} porridge with {f.s}\nYou need: a cup of {g} meal, three cups "
       "of milk or water, a pinch of salt, two {f.s} and {rec_spice}.\n"
       "Bring the milk to the boil with the salt. Sprinkle in the {g} meal with one hand and stir "
       "with the other. Turn down the heat and go on stirring for {rec_time}. Chop the {f.s} and "
       "add them near the end, with {rec_spice_last}. {rec_serve}",
       "{$v:rec_veg}{$w:rec_veg}Stew of {v.many} and {w.many}\nYou need: {smallnum} {v.many}, "
       "{smallnum} {w.many}, a cup of dried beans, {rec_fat}, {rec_herb} and salt.\n"
       "Soak the beans overnight and boil them until they are nearly soft. In another pot, fry the "
       "{v.many} in the fat until the edges are brown. Add the {w.many}, the beans and enough "
       "water to cover everything. Put on the lid. "
       "Let it stand at the edge of the fire for {rec_time}, and do not lift the lid more than "
       "once. Season it with salt and the {rec_herb_last}. {rec_serve}"});
  g.add("rec_veg",
        {"carrot;many=carrots", "leek;many=leeks", "potato;many=potatoes", "turnip;many=turnips",
         "parsnip;many=parsnips", "mushroom;many=mushrooms", "pumpkin;many=small pumpkins",
         "beetroot;many=beetroots", "cabbage;many=small cabbages", "swede;many=swedes"});
  g.add("rec_herb", {"a bunch of {rec_herb_last:herb}", "a little {rec_herb_last:herb}",
                     "some fresh {rec_herb_last:herb}"});
  g.add("herb", {"parsley", "thyme", "sage", "chives", "dill", "marjoram", "rosemary"});
  g.add("rec_fat", {"a lump of butter", "a large spoonful of butter", "some butter"});
  g.add("rec_nut",
        {"hazelnuts", "almonds", "raisins", "currants", "poppy seeds", "chopped walnuts"});
  g.add("rec_grain", {"barley", "rye", "oat", "wheat", "buckwheat", "spelt"});
  g.add("rec_sweet", {"{rec_sweet_last:sweet}"});
  g.add("sweet", {"honey", "sugar", "treacle", "apple syrup"});
  g.add("rec_spice", {"{$spc:spice}{spc.amount}"});
  g.add("rec_spice_last", {"the {spc}"});
  g.add("spice", {"cinnamon;amount=a stick of cinnamon", "cloves;amount=three cloves",
                  "ginger;amount=a little ginger", "nutmeg;amount=a grating of nutmeg",
                  "aniseed;amount=a pinch of aniseed"});
  g.add("rec_cheese", {"a piece of {rec_cheese_last:cheese}"});
  g.add("cheese", {"goat's cheese", "hard cheese", "smoked cheese", "fresh white cheese"});
  g.add("rec_tea",
        {"mint", "lime blossom", "chamomile", "elderflower", "nettle", "rose hip", "lemon balm"});
  g.add("rec_time", {"ten minutes", "a quarter of an hour", "half an hour", "forty minutes",
                     "an hour", "twenty minutes"});
  g.add("rec_serve",
        {"Serve it hot, with bread.", "Serve it in deep bowls and let everyone help themselves.",
         "It tastes even better the next day.", "Eat it on the same day, with friends.",
         "Keep a little for {person}, who likes it cold.",
         "There will be enough for {smallnum} hungry people.",
         "Let it cool a little before you taste it.",
         "{person} adds a spoonful of cream, but that is a matter of taste."});
  g.add("rec_keep", {"It keeps until {month} if nobody finds it.", "Write the year on every jar.",
                     "Store the jars in a cool, dark place.", "Give one jar to a neighbour."});
  g.add("rec_tea_end",
        {"Drink it slowly.", "Drink it by the fire, with a blanket over your knees.",
         "One cup in the evening is enough.", "It does no harm, and it may do some good."});
}

void add_howtos(Grammar& g) {
  g.add(
      "howto",
      {"How to warp a small loom\n1. Cut {smallnum} long threads of [fine|soft|thick] {colour} "
       "{fibre}, all of the same length.\n2. Tie the first thread to the [left|right] end of the "
       "back beam.\n3. Lead each thread through its own heddle, one after the other. "
       "{how_care}\n4. Draw the threads through the reed with a hook.\n5. Tie them to the front "
       "beam in small bundles.\n6. Turn the beam until every thread is tight. {how_end}",
       "How to dye {yarn} {k:dye}\n1. Wash the {yarn_last} in warm water and do not wring it.\n2. "
       "Fill a [copper|large|heavy] pot with water and add {k.with}.\n3. Let it boil for "
       "{rec_time}. {how_care}\n4. Lift out the plants and put in the wet {yarn_last}.\n5. Stir "
       "slowly until the colour is a little darker than you want.\n6. Rinse it in the stream and "
       "hang it in the shade. {how_end}",
       "How to plant {p:plant}\n1. Choose a place with [plenty of sun|some shade|good deep "
       "soil].\n2. Dig the bed and take out the stones. {how_care}\n3. Make a row of holes, "
       "{smallnum} inches apart.\n4. Put one [seed|seedling] into each hole and cover it with "
       "[fine soil|old leaves|a little sand].\n5. Water the bed every [morning|evening].\n6. Wait "
       "for {smallnum} weeks. {how_end}",
       "How to tie {k:knot}\n1. Take {how_rope} and lay it on the table.\n2. Make a loop with your "
       "[left|right] hand. {how_care}\n3. Pass the end [under|over] the loop and pull it through "
       "from [below|above].\n4. Go round the standing part [once|twice].\n5. Bring the end back "
       "the way it came.\n6. Pull until it sits snugly. {how_end}",
       "How to mend @ {m:mendable}\n1. Look for the place where it is broken. {how_care}\n2. Clean "
       "both edges with [a dry cloth|a soft brush|warm water].\n3. Cut a patch a little larger "
       "than the hole.\n4. Fasten it with [glue|small stitches|waxed thread|tiny nails], starting "
       "in the middle.\n5. Leave it alone until [it is dry|the next morning|after supper].\n6. "
       "Test it gently. {how_end}",
       "How to spin {yarn}\n1. Comb the fibres until they all lie the same way. {how_care}\n2. Tie "
       "a short leader thread to the spindle.\n3. Hold the fibres in your [left|right] hand, about "
       "as high as your [chin|heart].\n4. Give the spindle a turn and let the twist run up.\n5. "
       "Draw out the fibres with your fingers, no thicker than [a straw|a mouse's tail|a blade of "
       "grass].\n6. When the thread reaches the floor, wind it on and begin again. {how_end}",
       "How to keep @ {a:animal} [happy|out of the garden|warm in winter]\n1. Give it fresh water "
       "every [morning|day].\n2. Feed it [twice a day|at sunrise|a little at a time], but never "
       "{food}.\n3. Make it a bed of [straw|dry leaves|old {cloth}]. {how_care}\n4. Talk to it in "
       "a [low|calm|friendly] voice.\n5. Shut the gate every night, and then look again. {how_end}",
       "How to light @ {s:stove}\n1. Take out the cold ashes and put them on the [roses|path].\n2. "
       "Lay three thin sticks across two thick ones. {how_care}\n3. Push a twist of "
       "[straw|paper|birch bark] under the sticks.\n4. Light it from below and blow [softly|three "
       "times].\n5. When the sticks crackle, add a [split log|piece of peat|shovel of coal].\n6. "
       "Close the door and open the flue halfway. {how_end}"});
  g.add("yarn", {"[fine|soft|thick] {yarn_last:fibre}"});
  g.add("fibre", {"wool", "linen", "hemp", "cotton", "silk"});
  g.add("dye",
        {"orange;with=a basket of onion skins", "red;with=two handfuls of madder root",
         "blue;with=a bundle of woad leaves", "black;with=the bark of an alder and a rusty nail",
         "brown;with=a bucket of walnut shells", "yellow;with=a bag of dried marigolds",
         "green;with=a sack of young nettles", "pink;with=a bowl of beetroot peel"});
  g.add("plant", {"beans", "peas", "pumpkins", "sunflowers", "lavender", "garlic", "radishes",
                  "cabbages", "roses", "strawberries"});
  g.add("knot", {"a sailor's loop", "a weaver's knot", "a shepherd's hitch", "a ferry hitch",
                 "a double bow", "a net maker's knot"});
  g.add("how_rope",
        {"a yard of rope", "two pieces of string", "a strong cord", "a length of ribbon"});
  g.add("mendable", {"fishing net", "leather purse", "woollen blanket", "sail", "basket",
                     "paper kite", "umbrella", "quilt", "straw hat", "pair of boots"});
  g.add("stove", {"kitchen stove", "bread oven", "camp fire", "kiln", "wash house boiler"});
  g.add("how_care", {"Do not hurry.", "Take care not to tangle anything.",
                     "Keep your sleeves out of the way.", "Ask a friend to hold the other end.",
                     "Count twice.", "This is the step that most people forget.", "Go slowly here.",
                     "If it goes wrong, start again.", ""});
  g.add("how_end", {"Then sit down and admire your work.",
                    "If you are lucky, it will last for {smallnum} years.",
                    "Show it to {person}, who will find one mistake.",
                    "Now you know how, you can teach somebody else.",
                    "The second time will be easier.", "Remember: {proverb_low}."});
}

}  // namespace

void add_household(Grammar& g) {
  add_recipes(g);
  add_howtos(g);
}

}  // namespace twill_corpus
