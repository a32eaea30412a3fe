// SPDX-License-Identifier: Apache-2.0
// The kinds of pieces the corpus is made of. An add_ function teaches the grammar its rules once; a
// make_ function returns one new piece: a title line, then the body.
#pragma once

#include <string>

#include "grammar.h"

namespace twill_corpus {

void add_lexicon(Grammar& g);  // people, places, things and small sentences shared by all kinds
void add_tales(Grammar& g);    // the rule "tale"
void add_village_tales(Grammar& g);  // more of "tale"
void add_errand_tales(Grammar& g);   // more of "tale", and the morals of all of them
void add_dialogues(Grammar& g);      // the rule "dialogue"
void add_letters(Grammar& g);        // the rules "letter", "diary" and "notice"
void add_household(Grammar& g);      // the rules "recipe" and "howto"
void add_reports(Grammar& g);        // the rules behind make_weather, make_market and make_log
void add_riddles(Grammar& g);        // the rules behind make_riddle
void add_verses(Grammar& g);         // the rules behind proverbs, rhymes and songs
void add_sums(Grammar& g);           // the rules behind make_sum
void add_glossary(Grammar& g);       // the rules behind make_definition

std::string make_weather(Grammar& g);
std::string make_market(Grammar& g);
std::string make_log(Grammar& g);
std::string make_riddle(Grammar& g);
std::string make_proverbs(Grammar& g);
std::string make_rhyme(Grammar& g);
std::string make_song(Grammar& g);
std::string make_sum(Grammar& g);
std::string make_definition(Grammar& g);
std::string make_code(Grammar& g);

}  // namespace twill_corpus
