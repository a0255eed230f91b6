import { createBackend } from './api/client.ts';
import { startConsole } from './start.tsx';

startConsole(createBackend());
