/**
 * A profile is the hardware as data: boards, switches and their devices, NUMA nodes, disks, fabric. Nothing depends on
 * one host; serials and keys come from the host's name (identity.ts).
 */

import type { Profile } from './profile-shape.ts';
import { AMD_MI300X } from './profiles/amd-mi300x.ts';
import { DELL_XE9680_H200 } from './profiles/dell-xe9680-h200.ts';
import { NO_NVSWITCH } from './profiles/no-nvswitch.ts';

export const PROFILES = {
  'dell-xe9680-h200': DELL_XE9680_H200,
  'no-nvswitch': NO_NVSWITCH,
  'amd-mi300x': AMD_MI300X,
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];
