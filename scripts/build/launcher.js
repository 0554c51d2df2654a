#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.

// What agents call all day starts from one file each, which the build makes; every further file would cost a millisecond.
const HOT = {
  peek: './hot.js',
  pull: './hot.js',
  push: './hot.js',
  rm: './hot.js',
  artifact: './threads.js',
  state: './threads.js',
  // This hook reads the store, the others the project's files.
  'hook prompt-submit': './hot.js',
  hook: './hook.js',
};

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
if (major >= 24 || (major === 22 && minor >= 16)) {
  // Compiled code is run as it is found, so it must lie where nobody else can write: not in the shared /tmp, Node's choice.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  if (home) process.getBuiltinModule('node:module').enableCompileCache(`${home}/contextrelay`);
  // `relay peek …`, or `relay hook claude prompt-submit`.
  const [, , command, , event] = process.argv;
  const known = [`${command} ${event}`, command].find((name) => Object.hasOwn(HOT, name));
  // Compiled whole, not function by function when they are called: what is compiled later does not get into the cache.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--no-lazy');
  const { runMain } = await import(known ? HOT[known] : './main.js');
  setFlagsFromString('--lazy');
  await runMain();
} else {
  await import('./older-node.js');
}
