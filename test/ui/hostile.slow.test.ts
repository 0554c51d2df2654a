import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import type { PatchOp } from '../../src/formats/json-patch/apply.ts';
import { noBrowser } from '../browser/chromium.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent } from './demo/content.ts';

const skip = noBrowser;
let dashboard: Dashboard;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard();
});
after(async () => dashboard?.[Symbol.asyncDispose]());

const RUN = `globalThis.owned=1;document.title='owned';alert('owned')`;

/** Hostile texts that an agent may put into a displayed field. Unescaped, they would run code or mislead the reader. */
const WORDS: readonly string[] = [
  `<img src=x onerror="${RUN}">`,
  `<script>${RUN}</script>`,
  `"><svg onload="${RUN}">`,
  `</textarea></title><iframe srcdoc="<script>parent.${RUN}</script>">`,
  `javascript:${RUN}`,
  `{{constructor.constructor("${RUN.replaceAll('"', "'")}")()}}`,
  `\u202etxt.exe\u200b\u2066 \u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007link`,
  `__proto__`,
  `=cmd|'/C calc'!A0`,
];

const MARKDOWN = `# <img src=x onerror="${RUN}">

[click](javascript:${RUN}) [data](data:text/html,<script>${RUN}</script>) [vb](vbscript:x) <a href="javascript:${RUN}">raw</a>
![picture](http://evil.example/pixel.png) ![x](x" onerror="${RUN})
<script>${RUN}</script> <svg><script>${RUN}</script></svg> <iframe src="http://evil.example"></iframe>
<style>body{display:none}</style> <form action="http://evil.example"><input name=x></form>
<http://evil.example/?<script>${RUN}</script>> &lt;script&gt;${RUN}&lt;/script&gt;

| a | b |
|:--|--:|
| <img src=x onerror="${RUN}"> | \`<b onclick="${RUN}">\` |

<math><mtext></form><form><mglyph><style></math><img src onerror="${RUN}">
`;

const CONTENTS: readonly (readonly [name: string, mime: string, body: string])[] = [
  ['hostile.md', 'text/markdown', MARKDOWN],
  ['hostile.html', 'text/html', `<!doctype html><body onload="${RUN}"><script>${RUN}</script>`],
  [
    'hostile.svg',
    'image/svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="${RUN}"><script>${RUN}</script><image href="http://evil.example/x.png"/><rect width="20" height="20"/></svg>`,
  ],
  [
    'hostile.json',
    'application/json',
    JSON.stringify({ __proto__: WORDS, [WORDS[0]!]: WORDS, constructor: { prototype: { owned: 1 } } }),
  ],
  [
    'hostile.csv',
    'text/csv',
    ['a,b', ...WORDS.map((text) => `"${text.replaceAll('"', '""')}",=1+1`)].join('\n'),
  ],
  ['hostile.log', 'text/plain', WORDS.join('\n')],
  ['hostile.diff', 'text/x-diff', `--- a\n+++ b\n@@ -1 +1 @@\n-${WORDS[0]}\n+${WORDS[1]}\n`],
];

/** Asserts that nothing ran and nothing on the page could run. */
async function assertHarmless(page: Page): Promise<void> {
  const pageState = await page.evaluate(() => ({
    owned: 'owned' in globalThis,
    title: document.title,
    elements: document.querySelectorAll(
      'main :is(script, iframe, object, embed, form[action], style, link, base, meta, math, svg script, svg image)',
    ).length,
    handlers: [...document.querySelectorAll('main *')].filter((element) =>
      [...element.attributes].some(({ name }) => name.startsWith('on')),
    ).length,
    links: [...document.querySelectorAll('main a[href]')].filter(
      (link) => !/^(?:https?:|\/)/.test(link.getAttribute('href')!),
    ).length,
    pictures: [...document.querySelectorAll('main img')].filter(
      (picture) => !(picture as HTMLImageElement).src.startsWith('blob:'),
    ).length,
  }));
  assert.deepEqual(
    { ...pageState, title: /^owned/.test(pageState.title) },
    { owned: false, title: false, elements: 0, handlers: 0, links: 0, pictures: 0 },
    page.url(),
  );
  assert.deepEqual(dashboard.problems, []);
}

test('names, metadata and messages of agents are shown as plain text on every page', { skip }, async () => {
  const agent = asAgent(dashboard.relay, WORDS[0]!);
  const threads: string[] = [];
  for (const text of WORDS) {
    const { thread_id } = await agent.threads.create({ name: text.slice(0, 120) });
    threads.push(thread_id);
    await agent.channels.publish('hostile', text);
    await agent.channels.publish('hostile', { [text]: text });
    await agent.pointers.push({
      body: encodeUtf8(text),
      channel: 'agent-tasks',
      metadata: { summary: text, [text]: text, filename: text },
    });
  }
  const [thread] = threads as [string];
  await agent.threads.patch(thread, {
    ops: WORDS.flatMap((text, at): PatchOp[] => [
      { op: 'add', path: '/facts/-', value: { id: `f${at}`, key: text, value: text, by: text } },
      {
        op: 'add',
        path: '/plan/-',
        value: { id: `p${at}`, step: text, status: text.slice(0, 30) },
      },
    ]),
  });
  await agent.threads.record(thread, 'own.kind', { words: [...WORDS] });
  await agent.agents.beat('hostile-bridge', {
    ...{
      instance: WORDS[0]!.slice(0, 60),
      runner: 'exec',
      target: WORDS[1]!,
      task_channel: 'agent-tasks',
      done_channel: 'agent-done',
    },
    concurrency: 1,
    running: [],
    done: 0,
    failed: 0,
    started_at: new Date().toISOString(),
  });
  const { tasks } = await agent.tasks.list();
  const paths: readonly (readonly [path: string, shown: string])[] = [
    ['/ui/', 'Activity'],
    ['/ui/threads', '<script>'],
    [`/ui/threads/${thread}`, '<script>'],
    [`/ui/threads/${thread}?view=diff&from=1`, '<script>'],
    [`/ui/threads/${thread}?view=json`, '<script>'],
    [`/ui/threads/${thread}?tab=prompt`, 'the state was shortened'],
    [`/ui/threads/${thread}?tab=events`, 'own.kind'],
    [`/ui/compare?a=${thread}&b=${threads[1]}`, '<script>'],
    ['/ui/channels/hostile', '<script>'],
    ['/ui/pointers', '<script>'],
    ['/ui/tasks', '<script>'],
    ['/ui/agents', '<script>'],
    [`/ui/tasks/${tasks[0]!.id}`, 'Progress'],
    [`/pull/${tasks[1]!.id}`, 'Payload'],
  ];
  for (const [path, expectedText] of paths) {
    const page = await dashboard.open(path);
    await page.getByText(expectedText).filter({ visible: true }).first().waitFor();
    await assertHarmless(page);
    await page.context().close();
  }
});

test('content of agents is shown and never executed', { skip }, async () => {
  const agent = asAgent(dashboard.relay, 'stranger');
  const { thread_id: thread } = await agent.threads.create({ name: 'hostile contents' });
  for (const [name, mime, body] of CONTENTS) {
    const { ref } = await agent.threads.putArtifact(thread, { name, mime, body: encodeUtf8(body) });
    const page = await dashboard.open(`/ui/threads/${thread}?tab=artifacts&artifact=${ref}`);
    const view = page.getByRole('region', { name: 'Artifact' });
    await view.locator('.markdown > *, .text-line, .json-row, .csv-row, .picture').first().waitFor();
    await assertHarmless(page);
    const { id } = await agent.pointers.push({
      body: encodeUtf8(body),
      content_type: mime,
      metadata: { filename: name },
    });
    await page.goto(`${dashboard.url}/pull/${id}`);
    const payload = page.getByRole('region', { name: 'Payload' });
    await payload.locator('.text-line, .json-row, .csv-row, .picture').first().waitFor();
    const layOut = payload.getByRole('button', { name: 'Formatted' });
    if (await layOut.count()) {
      await layOut.click();
      await payload.locator('.markdown > *').first().waitFor();
    }
    await assertHarmless(page);
    await page.context().close();
  }
});

test('characters that reverse text or control a terminal are made visible', { skip }, async () => {
  const agent = asAgent(dashboard.relay, 'stranger');
  const { thread_id: thread } = await agent.threads.create({ name: 'bidi' });
  const { ref } = await agent.threads.putArtifact(thread, {
    name: 'a.log',
    mime: 'text/plain',
    body: encodeUtf8(WORDS[6]!),
  });
  const page = await dashboard.open(`/ui/threads/${thread}?tab=artifacts&artifact=${ref}`);
  const line = page.locator('.text-line code').first();
  await line.waitFor();
  const text = (await line.textContent())!;
  assert.ok(text.startsWith('‹U+202E›txt.exe‹U+200B›‹U+2066› ␛[31mred'), text);
});
