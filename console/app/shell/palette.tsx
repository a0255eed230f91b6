export const Palette = (_: Readonly<{ isOpen: boolean; onOpen(): void; onClose(): void; projectId: string | null }>) =>
  null;
