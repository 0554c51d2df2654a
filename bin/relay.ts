#!/usr/bin/env node
import { runMain } from '../src/app/main.ts';

await runMain();
