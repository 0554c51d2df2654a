#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.

// The commands that start from a file of their own; the build fills them in.
const HOT = [];

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
if (major >= 24 || (major === 22 && minor >= 16)) {
  process.getBuiltinModule('node:module').enableCompileCache();
  await import(HOT.includes(process.argv[2]) ? './hot.js' : './main.js');
} else {
  await import('./older-node.js');
}
