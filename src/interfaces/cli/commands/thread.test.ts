import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stats } from '../../../contract/threads.ts';
import { makeStyle } from '../io.ts';
import { tokenRows } from './thread.ts';

const plain = makeStyle(false);

function stats(o: Partial<Stats>): Stats {
  return {
    thread_id: '550e8400-e29b-41d4-a716-446655440000',
    artifacts: 12,
    naive_tokens: 48320,
    actual_tokens: 2400,
    avoided_tokens: 45920,
    cache_hits: 7,
    session_cache_hits: 3,
    breakdown: {
      headers: 0,
      header_reads: 0,
      states: 0,
      state_reads: 0,
      previews: 0,
      preview_reads: 0,
      listings: 0,
      listing_reads: 0,
      searches: 0,
      search_reads: 0,
      pulls: 0,
      pull_reads: 0,
    },
    tokenizer: 'o200k_base',
    estimated: false,
    billed: { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 },
    prompts: null,
    recent_prompts: [],
    ...o,
  };
}

test('stats are six rows in a fixed order, and name the tokenizer', () => {
  assert.equal(
    tokenRows(stats({}), plain),
    [
      '  artifacts                      12',
      '  naive tokens (if pasted)   48,320',
      '  actual tokens (via refs)    2,400',
      '  tokens avoided             45,920',
      '  cache hits                      7',
      '  session cache hits              3',
      '',
      '  counted with o200k_base; 95.0 % less than pasting',
    ].join('\n'),
  );
});

test('stats say if a thread cost more than pasting, and mark estimates', () => {
  const rows = tokenRows(
    stats({ naive_tokens: 100, actual_tokens: 150, avoided_tokens: -50, estimated: true }),
    plain,
  );
  assert.match(rows, /tokens avoided {16}-50\n/);
  assert.match(rows, /counted with o200k_base, some of it estimated; 50\.0 % more than pasting$/);
});

test('large numbers stay aligned', () => {
  const lines = tokenRows(stats({ naive_tokens: 12_345_678_901 }), plain)
    .split('\n')
    .slice(0, 6);
  assert.deepEqual([...new Set(lines.map((line) => line.length))].length, 1);
  assert.match(lines[1]!, /pasted\) {2}12,345,678,901$/);
});

test('stats of prompts follow with the billed and cached tokens', () => {
  const prompts = {
    prompts: 9,
    pasted_tokens: 41_210,
    shown_tokens: 9_870,
    avoided_tokens: 31_340,
    prompt_tokens: 8_900,
    tool_calls: 3,
    tool_call_tokens: 700,
    read_tokens: 270,
  };
  const billed = { input_tokens: 9_000, output_tokens: 80, cached_input_tokens: 6_000 };
  assert.equal(
    tokenRows(stats({ prompts, billed }), plain).split('\n').slice(8).join('\n'),
    [
      '',
      '  prompts                           9',
      '  tokens if pasted             41,210',
      '  tokens shown to models        9,870',
      '    in prompts                  8,900',
      '    in pulls while answering      700',
      '    in other reads                270',
      '  avoided by prompts           31,340',
      '',
      '  76.0 % less than pasting; billed 9,000 in (6,000 cached), 80 out',
    ].join('\n'),
  );
});
