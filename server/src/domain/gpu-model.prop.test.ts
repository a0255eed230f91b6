import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  canonicalModel,
  foundGpus,
  gpuIdsProblem,
  isSameModel,
  knownModel,
  modelConflict,
  seenGpus,
} from './gpu-model.ts';

const KNOWN_IDS = ['10de:2335', '10de:233b', '10de:2330', '10de:2901', '1002:74a1'] as const;
const NODE = { name: 'n1', gpu_model: 'H200 SXM' };
const gpu = (gpu_vendor_device: string | null, gpu_model: string | null = null) => ({ gpu_vendor_device, gpu_model });
const conflict = (gpus: ReturnType<typeof gpu>[], named = {}, node = NODE) =>
  modelConflict(node, foundGpus(seenGpus(gpus), named));

test('the name that a driver reports and the name of the product are one model', () => {
  for (const name of ['NVIDIA H200', 'nvidia  h200', 'H200', 'H200 SXM', ' h200 sxm '])
    assert.equal(canonicalModel(name).toLowerCase(), 'h200 sxm', name);
  assert.equal(canonicalModel('NVIDIA H200 NVL'), 'H200 NVL');
  assert.equal(canonicalModel('AMD Instinct MI300X'), 'MI300X');
  assert.equal(canonicalModel('NVIDIA Future 9'), 'Future 9');
});

test('to name a model twice changes nothing, and sameness is symmetric', () => {
  const name = fc.oneof(fc.string(), fc.constantFrom('NVIDIA H200', 'H200 SXM', 'NVIDIA H100 80GB HBM3', 'L40S'));
  fc.assert(
    fc.property(name, name, (a, b) => {
      assert.ok(isSameModel(a, canonicalModel(a)));
      assert.equal(isSameModel(a, b), isSameModel(b, a));
    }),
  );
});

test('the PCI ID decides, whatever a driver reports or hides', () => {
  const id = fc.constantFrom(...KNOWN_IDS);
  fc.assert(
    fc.property(id, id, fc.constantFrom(null, 'NVIDIA H200', 'Other'), (declared, found, driver) => {
      const node = { name: 'n', gpu_model: knownModel(declared) ?? '' };
      assert.equal(conflict([gpu(found, driver)], {}, node) === null, declared === found);
    }),
  );
});

test('one GPU of another model in a host is a conflict, in any order and number', () => {
  const others = fc.array(fc.constantFrom('10de:233b', '10de:2330', 'abcd:0001'), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(others, fc.nat(7), fc.nat(8), (ids, own, at) => {
      const gpus = Array.from({ length: own }, () => gpu('10de:2335'));
      gpus.splice(at, 0, ...ids.map((id) => gpu(id)));
      const sentence = conflict(gpus);
      assert.match(sentence ?? '', /^Node n1 was added as H200 SXM, but discovery found .*\.$/);
      for (const id of ids) assert.ok(sentence?.includes(id), sentence ?? '');
    }),
  );
});

test('an unknown GPU is shown by its ID until a driver or the site names it', () => {
  assert.match(conflict([gpu('abcd:0001')]) ?? '', /found 1 abcd:0001\. .*sku update <sku> --gpu-ids abcd:0001/);
  assert.equal(conflict([gpu('abcd:0001', 'NVIDIA H200')]), null);
  assert.equal(conflict([gpu('abcd:0001')], { 'abcd:0001': 'H200 SXM' }), null);
  assert.equal(conflict([gpu('abcd:0001')], {}, { name: 'n1', gpu_model: 'abcd:0001' }), null);
});

test('a host without GPUs conflicts with nothing', () => {
  assert.equal(conflict([]), null);
  assert.equal(conflict([gpu(null)]), null);
});

test('a known ID cannot be named as another model, and an unknown one has one name', () => {
  const sku = { name: 'a', gpu_model: 'H200 SXM', gpu_ids: ['10de:2330'] };
  assert.equal(gpuIdsProblem(sku, []), '10de:2330 is H100 SXM, not H200 SXM');
  assert.equal(gpuIdsProblem({ ...sku, gpu_ids: ['10de:2335'] }, []), null);
  const mine = { ...sku, gpu_ids: ['abcd:0001'] };
  const other = { name: 'b', gpu_model: 'B200 SXM', gpu_ids: ['abcd:0001'] };
  assert.equal(gpuIdsProblem(mine, [other]), 'SKU b names abcd:0001 as B200 SXM');
  assert.equal(gpuIdsProblem(mine, [{ ...other, gpu_model: 'NVIDIA H200' }, mine]), null);
});
