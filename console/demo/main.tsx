/** The console with the API in the page: `make console-demo`. Nothing leaves the browser. */
import { createBackend } from '../app/api/client.ts';
import { startConsole } from '../app/start.tsx';
import { connectMock, createMockApi } from '../mock-api/index.ts';

startConsole(createBackend({ fetch: createMockApi().fetch, connect: connectMock }));
