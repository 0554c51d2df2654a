import { test } from 'node:test';
import { checkRandomSchemas } from './random-schemas.ts';

test('what is replaced or expanded always matches its schema, for 2 000 random schemas', () =>
  checkRandomSchemas(2_000));
