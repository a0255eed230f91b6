/** Reasons that the control plane stores for people, kept here because SQL contains no sentences. */
export const REASONS = {
  release_requested: 'Release was requested.',
  duration_passed: 'Its maximum duration has passed.',
  wipe_unverified: 'The disk wipe could not be verified.',
  rebound: 'The node was given to another host.',
  cleanup_restarted: 'Cleanup was restarted.',
  slot_in_repair: 'The slot is being repaired.',
  gpu_not_reset: 'The GPU or its fabric function could not be reset. Reboot the host.',
  slot_not_schedulable: 'Wiped, but not schedulable.',
  reboot_for_gpu: 'A GPU could not be reset.',
  first_wipe: 'Its disk is being wiped before first use.',
  device_changed: 'Its disk or GPU was changed. Repair the slot to have it wiped.',
  device_elsewhere: 'Its disk or GPU was approved in another slot. Repair the slot to have it wiped.',
  wipe_overridden: 'Two operators accepted the wipe without proof.',
  override_not_allowed:
    'Two operators accepted the wipe without proof, which the region does not allow. Repair the slot.',
  task_expired: 'The task timed out.',
  task_unknown: 'The agent started the task and reported no result in time. Its effect is unknown.',
  task_unopened: 'The stored user data cannot be opened.',
  session_over: 'The session has ended.',
  worker_lost: 'The worker stopped reporting.',
  /** For operators; %s is the worker. */
  worker_lost_details: 'worker %s stopped reporting',
  clock_unchecked: 'No worker has checked the clock of the database for 5 minutes.',
  run_replaced: 'A later run replaced it.',
  /** %s are the version and the workflow. */
  run_abandoned: 'The deadline passed, and no worker runs version %s of %s.',
  database_restored: 'The control plane was restored from a backup. Open a new session.',
  account_disabled: 'The account was disabled.',
  key_deleted: 'The key was deleted.',
  owner_left_project: 'Its owner left the project.',
  certificate_replaced: 'Replaced by a newer certificate.',
} as const;
