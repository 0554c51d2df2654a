import { test } from 'node:test';
import { checkRandomSchemas } from './random-schemas.ts';

test('what is replaced or expanded always matches its schema, for 50 random schemas', () =>
  checkRandomSchemas(50));
