#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.

// The commands that start from a file of their own; the build fills them in.
const HOT = {};

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
if (major >= 24 || (major === 22 && minor >= 16)) {
  // Compiled code is run as it is found, so it must lie where nobody else can write: not in the shared /tmp, Node's choice.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const cache = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  if (cache) process.getBuiltinModule('node:module').enableCompileCache(`${cache}/contextrelay`);
  // `relay peek …`, or `relay hook claude prompt-submit`.
  const [, , command, , event] = process.argv;
  const known = [`${command} ${event}`, command].find((name) => Object.hasOwn(HOT, name));
  await import(`./${known ? HOT[known] : 'main'}.js`);
} else {
  await import('./older-node.js');
}
