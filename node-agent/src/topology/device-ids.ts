/**
 * Devices that a site adds to those the agent knows, as vendor:device. Accelerators that are named are the only ones. A fabric
 * function that is named is assigned with a slot: a virtual function of a card, or a function that is whole by itself.
 */
export type DeviceIds = Readonly<{ accelerators: readonly string[]; fabric_functions: readonly string[] }>;
export const NO_IDS: DeviceIds = { accelerators: [], fabric_functions: [] };
