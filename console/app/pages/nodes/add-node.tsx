/** Registers a node, then shows the command that installs its agent. */

import { CAPACITY_MODES, type Operations } from '@gpuaas/sdk';
import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { usePoolChoices } from '../../resource/choices.ts';
import { nameProblem } from '../../rules/name.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { EnrollmentCommand } from './enrollment.tsx';
import { hostNamed, SerialNumber, serialProblem, useIsHostRequired } from './host-serial.tsx';

/** Of the API, where a node names none. */
const DEFAULT_POOL = 'shared';

type Body = Operations['adminNodeCreate']['request']['body'];
type Mode = Body['capacity_mode'];

const MODE_LABELS: Readonly<Record<Mode, string>> = {
  slice: 'Slices of 1, 2, 4 or 8 GPUs',
  baremetal: 'Bare metal only',
  flexible: 'Slices or bare metal, by demand',
};

const Form = ({ onDone }: Readonly<{ onDone: (made: Operations['adminNodeCreate']['response']) => void }>) => {
  const create = useChange('adminNodeCreate');
  const regions = useAll('regionList', {});
  const skus = useAll('skuList', {});
  const pools = usePoolChoices();
  const isHostRequired = useIsHostRequired();
  const models = [...new Set(skus.data?.map(({ gpu_model }) => gpu_model) ?? [])];
  const form = useForm({
    initialValues: {
      name: '',
      region: '',
      model: '',
      pool: DEFAULT_POOL,
      gpus: 8,
      mode: 'slice' as Mode,
      network: '',
      serial: '',
    },
  });
  const { name, gpus, mode, network, serial } = form.getValues();
  const region = form.getValues().region || (regions.data?.find(({ enabled }) => enabled)?.name ?? '');
  const pool = form.getValues().pool || ((pools.find(({ value }) => value === DEFAULT_POOL) ?? pools[0])?.value ?? '');
  const model = form.getValues().model || (models[0] ?? '');
  const missing =
    nameProblem(name) ??
    (region === '' ? 'Select a region.' : model === '' ? 'Select a GPU model.' : serialProblem(serial, isHostRequired));
  const submit = async () => {
    if (missing !== null) return;
    const answer = await create.run({
      body: {
        name,
        region_name: region,
        ...(pool === '' ? {} : { pool_name: pool }),
        gpu_model: model,
        gpu_count: gpus,
        capacity_mode: mode,
        ...(network === '' ? {} : { private_network: network }),
        ...hostNamed(serial),
      },
    });
    if (answer !== null) onDone(answer.data);
  };
  return (
    <form onSubmit={form.onSubmit(() => void submit())}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="A name such as j22u15 places the node in rack j22, unit 15."
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Select
          label="Region"
          allowDeselect={false}
          data={(regions.data ?? []).map((one) => one.name)}
          {...form.getInputProps('region')}
          value={region}
        />
        <Select
          label="Pool"
          description="The organizations that the node serves."
          allowDeselect={false}
          searchable={pools.length > 8}
          data={pools}
          {...form.getInputProps('pool')}
          value={pool}
        />
        <Group grow>
          <Select
            label="GPU model"
            allowDeselect={false}
            data={models}
            {...form.getInputProps('model')}
            value={model}
          />
          <NumberInput
            label="GPUs"
            min={1}
            max={64}
            value={gpus}
            onChange={(value) => form.setFieldValue('gpus', Number(value) || 1)}
          />
        </Group>
        <Select
          label="Capacity mode"
          allowDeselect={false}
          data={CAPACITY_MODES.map((value) => ({ value, label: MODE_LABELS[value] }))}
          {...form.getInputProps('mode')}
        />
        <TextInput
          label="Private network"
          description="Address range for slices on this host. Assigned automatically if empty."
          placeholder="10.100.0.0/24"
          {...form.getInputProps('network')}
        />
        <SerialNumber isRequired={isHostRequired} {...form.getInputProps('serial')} />
        {create.error !== null && <ErrorPanel error={create.error} />}
        <CliCommand
          command={command(
            ['admin', 'node', 'create', name || 'NAME'],
            [
              ['region', region],
              ['pool', pool === DEFAULT_POOL ? null : pool],
              ['gpu-model', model],
              ['gpus', gpus],
              ['mode', mode],
              ['private-network', network],
              ['serial', serial.trim()],
            ],
          )}
        />
        <Group justify="flex-end">
          <ActionButton type="submit" loading={create.isRunning} disabledReason={missing}>
            Add node
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
      // The token is shown only once: a click outside must not close the dialog.
      closeOnClickOutside={made === null}
      title={<Text fw={600}>{made === null ? 'Add node' : `Install the agent on ${made.node.name}`}</Text>}
    >
      {isOpen && made === null && <Form onDone={setMade} />}
      {made !== null && (
        <Stack gap="sm">
          <EnrollmentCommand enrollment={made.enrollment} />
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
              Open node
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
};
