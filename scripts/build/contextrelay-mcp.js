#!/usr/bin/env node
// `contextrelay-mcp` runs `relay mcp`. MCP clients that were set up for the first ContextRelay still start
// this command.
process.argv.splice(2, 0, 'mcp');
await import('./relay.js');
