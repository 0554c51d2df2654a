import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relevance, topicOf } from './topic.ts';

test('the topic of a task is found in any language, with or without spaces between words', () => {
  for (const [query, title] of [
    ['the authentication form', 'Authenticate users'],
    ['Datenbankverbindung prüfen', 'Die Datenbank umziehen'],
    ['авторизация', 'Переписать модуль авторизации'],
    ['登录模块', '重构用户登录流程'],
    ['重构', '下周重构支付'],
    ['ログイン画面', '新しいログインを作る'],
    ['تسجيل دخول', 'إصلاح الدخول إلى الموقع'],
    ['ระบบชำระเงิน', 'แก้ไขระบบ'],
    ['로그인 화면', '로그인 기능 추가'],
  ] as const) {
    assert.ok(relevance(topicOf(query), title) > 0, `${query}: ${topicOf(query)}`);
  }
});

test('a match begins at the start of a word, and stop words match nothing', () => {
  assert.equal(relevance(topicOf('form'), 'a platform'), 0);
  assert.equal(relevance(topicOf('form'), 'a platform with a form'), 1);
  assert.deepEqual(topicOf('what should be done with the'), []);
});
