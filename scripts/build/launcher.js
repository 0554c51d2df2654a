#!/usr/bin/env node
// The published command. It stays plain enough for an old Node to read, so that an old Node can be told so.
import module from 'node:module';

const [major, minor] = process.versions.node.split('.').map(Number);

// 22.16 is the first with full-text search in node:sqlite; 23 is no longer looked after.
if (major >= 24 || (major === 22 && minor >= 16)) {
  module.enableCompileCache();
  await import('./main.js');
} else {
  await import('./older-node.js');
}
