#!/usr/bin/env node
/** The gpuaas command: parse, run, and end with the exit code that says how to go on. */
import { enableCompileCache } from 'node:module';

enableCompileCache();

const { run } = await import('./run.ts');
process.exitCode = await run(process.argv.slice(2), process.env);
