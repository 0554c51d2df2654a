#!/usr/bin/env node
// `contextrelay-mcp` runs `relay mcp`. Clients of the first ContextRelay have this name in their configuration.
process.argv.splice(2, 0, 'mcp');
await import('./relay.js');
