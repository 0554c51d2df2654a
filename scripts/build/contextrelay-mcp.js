#!/usr/bin/env node
// `contextrelay-mcp` is `relay mcp` under the name that clients of the first ContextRelay have in their configuration.
process.argv.splice(2, 0, 'mcp');
await import('./relay.js');
