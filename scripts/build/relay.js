#!/usr/bin/env node
// The published command. Old versions of Node must be able to parse this file, so that it can report that Node is too
// old.

const [major, minor] = process.versions.node.split('.').map(Number);

// Node 22.16 is the first version with full-text search in node:sqlite. Node 23 is excluded, because it is no
// longer maintained.
const hasStore = major >= 24 || (major === 22 && minor >= 16);
if (hasStore || !(await (await import('./older-node.js')).handedOver())) {
  // Node runs cached compiled code without a check. So the cache must be in a folder that only this user can write to,
  // not in the shared /tmp.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const cache = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const { enableCompileCache } = await import('node:module');
  if (cache) enableCompileCache?.(`${cache}/contextrelay`);
  await (await import('./main.js')).runMain();
}
