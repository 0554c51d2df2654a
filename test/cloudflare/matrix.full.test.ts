import { endToEndFiles, runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/** Holds the figures of a document, among them tokens of ids, which are drawn in another order there. */
const OF_A_DOCUMENT = 'test/threads/token-example.test.ts';

await runMatrix(
  ['test/pins/old-clients.test.ts', ...endToEndFiles().filter((path) => path !== OF_A_DOCUMENT)],
  {
    ...workerMatrix,
    deviations: {
      'test/a2a/cards.test.ts': {
        'what is wrong is told in the manner of the protocol, and accidents are not':
          'it makes a part of the server fail in its own process, and a Worker is in another',
      },
      'test/a2a/webhooks.test.ts': {
        'a webhook in our own network is refused':
          'a Worker has no network of its own that a webhook could be in',
      },
      'test/channels/socket.test.ts': {
        'a reader that does not keep up is cut off with a code that says so, and resumes without loss':
          'the platform holds what a reader has not read, and cuts it off by itself',
      },
      'test/http/bad-input.test.ts': {
        'raw requests that are not HTTP, or have no host, are refused and the server goes on':
          'the platform reads HTTP before a Worker sees anything of it',
      },
      'test/http/browser-safety.test.ts': {
        'a name that was rebound to this machine is refused':
          'a Worker is never on the machine of a browser, and may have any name',
      },
      'test/security/browser.test.ts': {
        'a name that was rebound to this machine gives a page nothing':
          'a Worker is never on the machine of a browser, and may have any name',
      },
      'test/security/cross-site.test.ts': {
        'in open mode a request or socket by a foreign name is refused':
          'a Worker is never on the machine of a browser, and may have any name',
      },
    },
  },
);
