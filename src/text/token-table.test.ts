import assert from 'node:assert/strict';
import { test } from 'node:test';
import RANKS from 'gpt-tokenizer/bpeRanks/o200k_base';
import { countTokens } from './token-count.ts';
import { makeTokenTable, tokenTableCounter } from './token-table.ts';

const count = tokenTableCounter(makeTokenTable(RANKS));

test('the table counts as the tokenizer does, in every script', () => {
  for (const text of [
    '',
    "The project has a new decision: store each message in one table, and don’t add an index. We'll SEE.",
    'Die Übertragungsgeschwindigkeit der Datenbankverbindung muss vor der Auslieferung gemessen werden.',
    '用户登录模块需要重构，并在发布之前完成所有测试。データベースの接続を確認する。사용자 로그인',
    'يجب إعادة كتابة وحدة تسجيل الدخول قبل الإصدار القادم، وإضافة الاختبارات.',
    'Необходимо переписать модуль авторизации; हमें परीक्षण लिखने हैं; ทดสอบก่อนเผยแพร่; בדיקות',
    "export function readTodos(doc: JsonDocument): Todo[] { return doc.find(['todos'])?.entries ?? []; }",
    'https://relay.example/pull/0b51a2ee-7d9e-4c0f-9f8a-2d1f3c4b5a69 at 2026-04-20T10:00:00+08:00 // <|endoftext|>',
    '\n\n---\n\t\t| a | b |\r\n  ...!!??\ud800   \n   👩‍👩‍👧🏽',
  ]) {
    assert.equal(count(text), countTokens(text).tokens, text);
  }
});

test('it splits a text where the tokenizer does, whatever stands beside whatever', () => {
  const alphabet = [
    ..."ab AB  \n\r\t'sSlLtTdDvVeE.,/!-#_12९٣漢字かナأبतेकाÉéßДдǅʰ́̃👍👩‍👩‍👧𐐀𐐨🏽\u00a0\u3000中。…ẞ\u{e0101}\ud800",
  ];
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < 3_000; i++) {
    const text = Array.from({ length: 1 + next(14) }, () => alphabet[next(alphabet.length)]).join('');
    assert.equal(count(text), countTokens(text).tokens, JSON.stringify(text));
  }
});
