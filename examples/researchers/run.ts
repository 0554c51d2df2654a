/**
 * Three researchers, one channel, one synthesiser. Each researcher pushes its section as soon as it is written. The
 * synthesiser subscribes and assembles the report when it has all three. Nobody polls, and no section is pasted into
 * another agent's prompt.
 *
 *   node examples/researchers/run.ts          uses the provider whose key is set
 *   node examples/researchers/run.ts --fake   needs no model
 */
import assert from 'node:assert/strict';
import { openStory } from '../story.ts';

const SECTIONS = {
  intro: 'Write an introduction to quantum computing, one paragraph.',
  analysis: 'Analyse the current state of quantum hardware, one paragraph.',
  conclusion: 'Summarise the five-year outlook for quantum computing, one paragraph.',
};
type Section = keyof typeof SECTIONS;

await using story = await openStory(
  (_, words) =>
    `[${words.split(' ').slice(0, 3).join(' ')}… findings] ${'Something that was found out. '.repeat(60)}`,
);

// The synthesiser subscribes before anything is pushed.
const synthesiser = story.client();
const pointers: string[] = [];
const collected = new Map<Section, string>();
const report = Promise.withResolvers<string>();
await using subscription = synthesiser.subscribe('report-channel', async ({ url }) => {
  pointers.push(url!);
  const { section } = (await synthesiser.peek(url!)) as { section: Section };
  collected.set(section, await synthesiser.pull(url!));
  console.log(`the synthesiser got: ${section}`);
  if (collected.size === 3) {
    const order: Section[] = ['intro', 'analysis', 'conclusion'];
    report.resolve(order.map((name) => collected.get(name)).join('\n\n'));
  }
});
await subscription.ready;

// Three researchers work at the same time, each with its own client.
async function researcher(section: Section): Promise<string> {
  const result = await story.ask('You are a researcher. Answer with the section alone.', SECTIONS[section]);
  await story.client().push(result, { channel: 'report-channel', metadata: { section } });
  return result;
}
const [intro, analysis, conclusion] = await Promise.all([
  researcher('intro'),
  researcher('analysis'),
  researcher('conclusion'),
]);

const whole = await report.promise;
console.log(`the report is assembled: ${whole.length} characters`);
assert.equal(whole, [intro, analysis, conclusion].join('\n\n'));
const sections = [intro, analysis, conclusion];
// Without the relay, the program that starts the researchers reads every section too and passes it on.
await story.bill([...sections, ...sections], [...pointers, ...sections]);
console.log('checked: the report contains every section in order and unchanged');
