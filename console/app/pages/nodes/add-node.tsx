/** A new host: what it is, then the command that installs its agent. */

import type { Operations } from '@gpuaas/sdk';
import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { EnrolmentShown } from './enrolment.tsx';

type Body = Operations['adminNodeCreate']['request']['body'];
type Mode = Body['capacity_mode'];

const MODES: readonly { value: Mode; label: string }[] = [
  { value: 'slice', label: 'Slices of 1, 2, 4 or 8 GPUs' },
  { value: 'baremetal', label: 'Bare metal, the whole host' },
  { value: 'flexible', label: 'Both, whichever is asked for first' },
];

const Form = ({ onDone }: Readonly<{ onDone: (made: Operations['adminNodeCreate']['response']) => void }>) => {
  const create = useChange('adminNodeCreate');
  const regions = useAll('regionList', {});
  const skus = useAll('skuList', {});
  const models = [...new Set(skus.data?.map(({ gpu_model }) => gpu_model) ?? [])];
  const [form, setForm] = useState({ name: '', region: '', model: '', gpus: 8, mode: 'slice' as Mode, network: '' });
  const set = (change: Partial<typeof form>) => setForm((before) => ({ ...before, ...change }));
  const region = form.region === '' ? (regions.data?.find(({ enabled }) => enabled)?.name ?? '') : form.region;
  const model = form.model === '' ? (models[0] ?? '') : form.model;
  const missing =
    form.name === ''
      ? 'Give the host its name.'
      : region === ''
        ? 'Choose a region.'
        : model === ''
          ? 'Choose a model.'
          : null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (missing !== null) return;
    const answer = await create.run({
      body: {
        name: form.name,
        region_name: region,
        gpu_model: model,
        gpu_count: form.gpus,
        capacity_mode: form.mode,
        ...(form.network === '' ? {} : { private_network: form.network }),
      },
    });
    if (answer !== null) onDone(answer.data);
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="A name like j22u15 puts it into rack j22, unit 15."
          value={form.name}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Select
          label="Region"
          value={region}
          allowDeselect={false}
          data={(regions.data ?? []).map(({ name }) => name)}
          onChange={(value) => set({ region: value ?? '' })}
        />
        <Group grow>
          <Select
            label="GPU model"
            value={model}
            allowDeselect={false}
            data={models}
            onChange={(value) => set({ model: value ?? '' })}
          />
          <NumberInput
            label="GPUs"
            min={1}
            max={64}
            value={form.gpus}
            onChange={(value) => set({ gpus: Number(value) || 1 })}
          />
        </Group>
        <Select
          label="Sold as"
          value={form.mode}
          allowDeselect={false}
          data={[...MODES]}
          onChange={(value) => set({ mode: (value ?? 'slice') as Mode })}
        />
        <TextInput
          label="Private network"
          description="Behind the host; slices get addresses of it. Left out, the platform chooses."
          placeholder="10.100.0.0/24"
          value={form.network}
          onChange={(event) => set({ network: event.currentTarget.value })}
        />
        {create.error !== null && <ErrorPanel error={create.error} />}
        <CliCommand
          command={command(
            ['admin', 'node', 'create', form.name === '' ? 'NAME' : form.name],
            [
              ['region', region],
              ['gpu-model', model],
              ['gpus', form.gpus],
              ['mode', form.mode],
              ['private-network', form.network],
            ],
          )}
        />
        <Group justify="flex-end">
          <ActionButton type="submit" loading={create.isRunning} disabledReason={missing}>
            Add the node
          </ActionButton>
        </Group>
      </Stack>
    </form>
  );
};

export const AddNode = ({ isOpen, onClose }: Readonly<{ isOpen: boolean; onClose: () => void }>) => {
  const [made, setMade] = useState<Operations['adminNodeCreate']['response'] | null>(null);
  const navigate = useNavigate();
  const close = () => {
    setMade(null);
    onClose();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      size="lg"
      // A stray click must not throw away what is shown only once.
      closeOnClickOutside={made === null}
      title={<Text fw={600}>{made === null ? 'Add a node' : `Install the agent on ${made.node.name}`}</Text>}
    >
      {isOpen && made === null && <Form onDone={setMade} />}
      {made !== null && (
        <Stack gap="sm">
          <EnrolmentShown enrolment={made.enrollment} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button
              onClick={() => {
                close();
                void navigate({ to: '/platform/nodes/$nodeId', params: { nodeId: made.node.id } });
              }}
            >
              Go to the node
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
};
