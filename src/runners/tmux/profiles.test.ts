import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentView, compileProfile, findAgent, PROFILES } from './profiles.ts';

const RULE = '─'.repeat(40);
const DASHES = '╌'.repeat(40);
const TOP = '▄'.repeat(40);
const BOTTOM = '▀'.repeat(40);
const screen = (...lines: string[]): AgentView => ({ title: '', screen: `${lines.join('\n')}\n\n\n` });

const agent = (name: string) => compileProfile(name, PROFILES[name]!);
const stateOf = (name: string, sight: AgentView) => agent(name).state(sight).name;
function askedOf(name: string, sight: AgentView): string {
  const state = agent(name).state(sight);
  return state.name === 'asks' ? state.asked : assert.fail(`${name} is ${state.name}`);
}

// The tests below use shortened screens of Claude Code 2.1, Codex 0.166, Gemini CLI 0.61, OpenCode 1.18 and
// Aider.

test('Claude Code works, waits for input, or asks', () => {
  const box = [RULE, '❯ ', RULE];
  const answerRows = ['❯ Make it', '', '● Made it.', '', '✻ Cogitated for 11s'];
  const manual = '  ⏸ manual mode on · ? for shortcuts';
  assert.equal(stateOf('claude', screen(...answerRows, ...box, manual)), 'ready');
  assert.equal(
    stateOf('claude', screen(...answerRows, RULE, '❯ 1. a draft', '  2. of mine', RULE, manual)),
    'unclear',
  );
  assert.equal(
    stateOf('claude', screen(...answerRows, ...box, '  ⏵⏵ auto mode on · esc to interrupt')),
    'busy',
  );
  const older = [`╭${RULE}╮`, '│ > ', `╰${RULE}╯`, '  ? for shortcuts'];
  assert.equal(stateOf('claude', screen('● Made it.', ...older)), 'ready');
  const bash = [
    ...['❯ Make it', '', '● Making it', RULE, ' Bash command', ' Make a file', DASHES, ' touch made', DASHES],
    ...[' Do you want to proceed?', ' ❯ 1. Yes', '   2. No', '', ' Esc to cancel · Tab to amend'],
  ];
  assert.equal(
    askedOf('claude', screen(...bash)),
    'Bash command Make a file · touch made · Do you want to proceed?',
  );
  const question = [
    ...['❯ Paint it', RULE, ' ☐ Colour', '', 'Which colour?', '', '❯ 1. Red', '  2. Blue', RULE],
    ...['  3. Chat about this', '', 'Enter to select · ↑/↓ to navigate · Esc to cancel'],
  ];
  assert.equal(askedOf('claude', screen(...question)), '☐ Colour · Which colour?');
  const trust = [
    RULE,
    ' Accessing workspace:',
    '',
    ' /p',
    '',
    ' ❯ No, exit',
    '   Yes, I trust this folder',
    '',
  ];
  assert.match(
    askedOf('claude', screen(...trust, ' Enter to confirm · Esc to cancel')),
    /^Accessing workspace: · \/p$/,
  );
  const quoted = ['● It said:', ...bash.slice(3), '', ...box, manual];
  assert.equal(stateOf('claude', screen(...quoted)), 'ready', 'a dialog that is only quoted');
});

test('the status file of Claude Code takes precedence over its screen', () => {
  const unknown = screen('something new in a later version');
  const withStatus = (state: 'ready' | 'busy' | 'asks') =>
    agent('claude').state({ ...unknown, status: { state, asked: 'permission prompt' } });
  assert.deepEqual(withStatus('ready'), { name: 'ready' });
  assert.deepEqual(withStatus('busy'), { name: 'busy' });
  assert.deepEqual(withStatus('asks'), { name: 'asks', asked: 'permission prompt' });
});

test('Codex works, waits for input, or asks', () => {
  const box = ['› Ask Codex to do anything', '', '  gpt · /p', '  ← for agents · ? for shortcuts'];
  assert.equal(stateOf('codex', screen('› Make it', '', '• Made it.', '', ...box)), 'ready');
  assert.equal(
    stateOf('codex', screen('› Make it', '• Working (1s • esc to interrupt)', '', ...box)),
    'busy',
  );
  assert.equal(stateOf('codex', { ...screen('› Make it', ...box), title: '⠧ work' }), 'busy');
  const dialog = [
    ...['› Make it', '', '• Running touch made', '', '  Would you like to run the following command?', ''],
    ...['  Reason: it is asked for', '', '  $ touch made', '', '› 1. Yes, proceed (y)', '  2. No (esc)', ''],
    '  Press enter to confirm or esc to cancel',
  ];
  const question = 'Would you like to run the following command? · Reason: it is asked for · $ touch made';
  assert.equal(askedOf('codex', screen(...dialog)), question);
  const trust = [
    '  Trust this folder? It can run code.',
    '',
    '› 1. Trust and continue',
    '  enter continue · esc back',
  ];
  assert.equal(askedOf('codex', screen('  Folder access', ...trust)), 'Trust this folder? It can run code.');
  const title = '[ ! ] Action Required | work';
  assert.equal(askedOf('codex', { title, screen: 'A new kind of dialog?\n' }), 'A new kind of dialog?');
});

test('Gemini CLI works, waits for input, or asks', () => {
  const box = [RULE, TOP, ' >   Type your message or @path/to/file', BOTTOM, ' workspace', ' /p'];
  const sent = [TOP, ' > Make it', BOTTOM];
  assert.equal(stateOf('gemini', screen(...sent, '✦ Made it.', ...box)), 'ready');
  assert.equal(
    stateOf('gemini', screen(...sent, RULE, TOP, ' > a draft', BOTTOM, ' workspace', ' /p')),
    'ready',
  );
  assert.equal(stateOf('gemini', screen(...sent, ' ⠧ Thinking... (esc to cancel, 2s)', ...box)), 'busy');
  const dialog = [
    ...[`╭${RULE}╮`, '│ ? Shell  touch made │', `│ ╭${RULE}╮ │`, '│ │ touch made │ │', `│ ╰${RULE}╯ │`],
    ...['│ Allow execution of [Shell]? │', '│ ● 1. Allow once │', '│   2. No (esc) │', `╰${RULE}╯`],
  ];
  const question = '? Shell touch made · touch made · Allow execution of [Shell]?';
  assert.equal(askedOf('gemini', screen(...sent, ...dialog)), question);
  const done = [`╭${RULE}╮`, '│ ✓  Shell touch made │', `╰${RULE}╯`];
  assert.equal(
    askedOf('gemini', screen(...sent, ...done, ...dialog)),
    question,
    'an earlier box is not the dialog',
  );
  const trust = [`╭${RULE}╮`, '│ Do you trust the files? │', '│ ● 1. Trust folder │', `╰${RULE}╯`];
  const readyTitle = '◇  Ready (work)';
  assert.equal(askedOf('gemini', { ...screen(...trust), title: readyTitle }), 'Do you trust the files?');
  assert.equal(stateOf('gemini', { title: '✋  Action Required (work)', screen: 'x' }), 'asks');
});

test('OpenCode and Aider work, wait for input, or ask', () => {
  const box = ['  ┃  Build · Fake', `  ╹${BOTTOM}`];
  assert.equal(stateOf('opencode', screen(...box, '   /p      15 (0%)  ctrl+p commands')), 'ready');
  assert.equal(stateOf('opencode', screen(...box, '  ⬝■■  esc interrupt     ctrl+p commands')), 'busy');
  const dialog = ['  ┃  △ Permission required', '  ┃    # Shell command', '  ┃', '  ┃  $ touch made', '  ┃'];
  const choices = '  ┃   Allow once   Allow always   Reject    ⇆ select  enter confirm';
  assert.equal(askedOf('opencode', screen(...dialog, choices)), '# Shell command · $ touch made');
  assert.equal(stateOf('aider', screen('Aider v0.86', 'Made it.', RULE, '> ')), 'ready');
  assert.equal(askedOf('aider', screen('Run shell command? (Y)es/(N)o [Yes]: ')), 'Run shell command?');
});

test('a long question is cut at its beginning', () => {
  const mine = compileProfile('mine', { asks: '^([^]*\\?) \\[y/n\\]$' });
  const state = mine.state(screen(`${'x'.repeat(2_000)} Sure? [y/n]`));
  assert.ok(state.name === 'asks' && state.asked.length <= 400 && /^…x+ Sure\?$/.test(state.asked));
});

test('the output is the text above the input box', () => {
  const box = [RULE, '❯ ', RULE, '  ? for shortcuts'];
  assert.equal(agent('claude').aboveInput(['● Made it.', '', ...box].join('\n')), '● Made it.');
  assert.equal(agent('other').aboveInput('Made it.\n> '), 'Made it.\n> ');
});

test('an agent is recognized by its program, else by its screen', () => {
  const named = (command: string, text: string) => findAgent(PROFILES, { command, screen: text }).name;
  assert.equal(named('claude', ''), 'claude');
  assert.equal(named('node', 'Type your message or @path/to/file'), 'gemini');
  assert.equal(named('node', '? for shortcuts\n >   Type your message or @path/to/file'), 'gemini');
  assert.equal(named('node', '❯ \n  ? for shortcuts'), 'claude');
  assert.equal(named('vim', 'nothing known'), 'other');
});
