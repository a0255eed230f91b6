#!/usr/bin/env node
/** The gpuaas CLI: parses, runs, and ends with the exit code for scripts. */
import { enableCompileCache } from 'node:module';

enableCompileCache();

const { runInProcess } = await import('./process-io.ts');
process.exitCode = await runInProcess();
