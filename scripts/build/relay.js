#!/usr/bin/env node
// The published command. An old Node must be able to parse this file, so that it can be told that it is too old.

const [major, minor] = process.versions.node.split('.').map(Number);

// Node 22.16 is the first with full-text search in node:sqlite; 23 is out of maintenance.
const hasStore = major >= 24 || (major === 22 && minor >= 16);
if (hasStore || !(await (await import('./older-node.js')).handedOver())) {
  // Compiled code runs as it is found, so it belongs into a folder that only this user can write to, not into the shared /tmp.
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const cache = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const { enableCompileCache } = await import('node:module');
  if (cache) enableCompileCache?.(`${cache}/contextrelay`);
  await (await import('./main.js')).runMain();
}
