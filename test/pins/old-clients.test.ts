import { test } from 'node:test';
import { oldContextRelay, oldManagedClient } from './requests/old-context-relay.ts';
import { oldGoRelay } from './requests/old-go-relay.ts';
import { checkTranscript } from './transcripts.ts';

/** Sends the requests of clients of the original systems, with their exact headers. These clients will not change. */

test('clients of the original ContextRelay get the same answers as before', () =>
  checkTranscript({ name: 'old-context-relay', requests: oldContextRelay }));

test('the original Python client with a key gets the same answers as before', () =>
  checkTranscript({ name: 'old-managed-client', requests: oldManagedClient, keys: {} }));

test('clients of the Go relay get the same answers as before', () =>
  checkTranscript({ name: 'old-go-relay', requests: oldGoRelay }));
