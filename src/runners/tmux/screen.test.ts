import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count, markOf, outputAfter } from './screen.ts';

/** Reads a screen from which no line has scrolled away. */
const shownBehind = (screen: string, text: string, before: string) =>
  outputAfter({ view: screen, all: screen }, text, { view: before, all: before });

const PROMPT = 'Read it with: relay pull "http://127.0.0.1:7474/pull/1" - then do it. (relay task 17)';

test('a text is found on the screen however the program wraps and frames it', () => {
  const screen =
    '╭────╮\n│ > Read it with: relay pull "http://127.0.0 │\n│ .1:7474/pull/1" - then     │\n│ do it. (relay task 17)   │\n╰──╯';
  assert.equal(count(screen, markOf(PROMPT)), 1);
  assert.equal(count(`${screen}\n${screen}`, markOf(PROMPT)), 2);
  assert.equal(count('something else', markOf(PROMPT)), 0);
});

test('an agent that repeats the last line of the text keeps its earlier output', () => {
  const last = '(relay task 0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11)';
  const text = `Do it, and say what came of it.\n${last}`;
  for (const screenText of [`answer\n${last}`, `${last}\nanswer`, `part one\n${last}\npart two`]) {
    assert.equal(shownBehind(`> ${text}\n${screenText}`, text, ''), screenText);
  }
});

test('earlier screens of a program that redraws itself are not part of the answer', () => {
  const view = `welcome\n> ${PROMPT}\nhash 42\n? for shortcuts`;
  const all = `welcome\n> ${PROMPT}\n? for shortcuts\nwelcome\n> ${PROMPT}\nworking\n? for shortcuts\n${view}`;
  assert.equal(outputAfter({ view, all }, PROMPT, { view: '', all: '' }), 'hash 42\n? for shortcuts');
});

test('the output is the text after the prompt on the screen', () => {
  const screen = `old stuff\n> ${PROMPT.slice(0, 30)}\n  ${PROMPT.slice(30)}\nworking\ndone: 42\n`;
  assert.equal(shownBehind(screen, PROMPT, ''), 'working\ndone: 42');
  const twice = `> ${PROMPT}\nfirst\n> ${PROMPT}\nsecond`;
  assert.equal(shownBehind(twice, PROMPT, `> ${PROMPT}\nfirst\n`), 'second', 'it was put in before');
  assert.equal(shownBehind(`${PROMPT}\n> ${PROMPT}\nanswer`, PROMPT, ''), 'answer', 'it is shown twice');
});

test('if the prompt is out of view, the output is everything that is new on the screen', () => {
  assert.equal(shownBehind('a\nb\nc\nd', 'not in view', 'a\nb\n'), 'c\nd');
});
