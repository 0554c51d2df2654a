import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { conformanceFixtures } from '../conformance/fixtures.ts';

/** MCP server over stdio with the tools and resources that the official suite expects. */

const fixtures = conformanceFixtures();
serveStdio(() => {
  const server = new McpServer({ name: 'fixtures', version: '1' }, { ...fixtures.options });
  fixtures.register(server);
  return server;
});
