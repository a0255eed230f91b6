/**
 * Devices that a site adds to the known ones, as vendor:device. Listed accelerators replace the known ones. A listed
 * fabric function is assigned with a slot: a virtual function of a card, or a whole function.
 */
export type DeviceIds = Readonly<{ accelerators: readonly string[]; fabric_functions: readonly string[] }>;
export const NO_IDS: DeviceIds = { accelerators: [], fabric_functions: [] };
