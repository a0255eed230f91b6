import assert from 'node:assert/strict';
import { it } from 'node:test';
import { urlsOf } from './database-url.ts';

it('a database URL with several hosts is one URL for each', () => {
  assert.deepEqual(urlsOf('postgresql://ada:p%40ss@one:5433,two,[::1]:5434/gpuaas?sslmode=require'), [
    'postgresql://ada:p%40ss@one:5433/gpuaas?sslmode=require',
    'postgresql://ada:p%40ss@two/gpuaas?sslmode=require',
    'postgresql://ada:p%40ss@[::1]:5434/gpuaas?sslmode=require',
  ]);
});

it('a URL with one host, a socket directory or a comma elsewhere stays as it is', () => {
  for (const url of [
    'postgresql://ada@one:5433/gpuaas',
    'postgres://localhost/gpuaas?host=%2Ftmp%2Fa',
    'postgresql:///gpuaas?options=-c%20search_path=a,b',
    'postgresql://ada:a,b@one/gpuaas',
  ])
    assert.deepEqual(urlsOf(url), [url]);
});
