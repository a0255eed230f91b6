/**
 * The console with the API in the page: `make console-demo`. Nothing leaves the browser. Who one is and what there is can be
 * said behind the address: `#as=viewer&seed=large`.
 */
import { createBackend } from '../app/api/client.ts';
import { startConsole } from '../app/start.tsx';
import { connectMock, createMockApi, optionsOf } from '../mock-api/index.ts';

const { fetch } = createMockApi(optionsOf(new URLSearchParams(globalThis.location.hash.slice(1))));
startConsole(createBackend({ fetch, connect: connectMock }));
