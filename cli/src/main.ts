#!/usr/bin/env node
/** The gpuaas command: parse, run, and end with the exit code that tells a script how to continue. */
import { enableCompileCache } from 'node:module';

enableCompileCache();

const { runInProcess } = await import('./process-io.ts');
process.exitCode = await runInProcess();
