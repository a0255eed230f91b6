/** NVIDIA's predefined fabric partitions of a board with eight GPUs, by module ID, as Fabric Manager lists them. */
export const HGX_PARTITIONS: readonly (readonly number[])[] = [
  [1, 2, 3, 4, 5, 6, 7, 8],
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [1, 3],
  [2, 4],
  [5, 7],
  [6, 8],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((module) => [module]),
];
