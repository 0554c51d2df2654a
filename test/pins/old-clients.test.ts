import { test } from 'node:test';
import { oldContextRelay, oldManagedClient } from './requests/old-context-relay.ts';
import { oldGoRelay } from './requests/old-go-relay.ts';
import { checkTranscript } from './transcripts.ts';

/** Clients that were written for the original systems, header for header. Nobody can change them any more. */

test('the clients of the original ContextRelay are answered as they were', () =>
  checkTranscript({ name: 'old-context-relay', requests: oldContextRelay }));

test('its Python client with a key is answered as it was', () =>
  checkTranscript({ name: 'old-managed-client', requests: oldManagedClient, keys: {} }));

test('the clients of the Go relay are answered as they were', () =>
  checkTranscript({ name: 'old-go-relay', requests: oldGoRelay }));
