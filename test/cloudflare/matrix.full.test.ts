import { endToEndFiles, runMatrix } from '../engine-matrix.ts';
import { workerMatrix } from './matrix.ts';

/** Test files that do not apply to a Worker, with the reason. */
const LEFT_OUT: { readonly [file: string]: string } = {
  'test/threads/token-example.test.ts':
    'it checks figures with tokens of random ids, which a Worker draws in another order',
  'test/security/telling.test.ts': 'metering, traces and the request log exist only in a server process',
};

/** Reasons that apply to several deviations. */
const OWN_PROCESS =
  'it makes a part of the server fail inside the test process, but a Worker runs in another process';
const NEVER_STOPS = 'a Worker gets no stop signal';

await runMatrix(['test/pins/old-clients.test.ts', ...endToEndFiles().filter((path) => !(path in LEFT_OUT))], {
  ...workerMatrix,
  deviations: {
    'test/a2a/cards.test.ts': {
      "errors are answered in the protocol's format, and details of unexpected errors are hidden":
        OWN_PROCESS,
    },
    'test/a2a/webhooks.test.ts': {
      'a webhook in the local network is refused': 'a Worker is in no private network',
    },
    'test/channels/events.test.ts': {
      'a reader that got no message before the server stopped gets the id from which to resume': NEVER_STOPS,
    },
    'test/http/bad-input.test.ts': {
      'raw requests that are not HTTP, or have no host, are refused and the server goes on':
        'the platform parses HTTP before the Worker',
    },
    'test/http/dashboard.test.ts': {
      'files with a hash in their name may be cached forever, and are compressed if the client accepts it':
        'the platform compresses the files',
    },
    'test/http/idempotency.test.ts': {
      'a retry announces a pointer that a crash left unannounced': OWN_PROCESS,
    },
    'test/mcp/safety.test.ts': {
      'over HTTP › an unexpected error is logged and not shown': OWN_PROCESS,
    },
    'test/security/connections.test.ts': {
      'a stopping server answers the requests that it accepted': NEVER_STOPS,
    },
    'test/security/network.test.ts': {
      'a server is ready until it stops, and while its store answers': OWN_PROCESS,
    },
    'test/security/cross-site.test.ts': {
      'sockets end when their key is revoked, here or in another process':
        'a hibernating socket’s key is checked only when there is something to send',
    },
  },
});
