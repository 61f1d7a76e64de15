/*
 * A plugin of QEMU's translator, which counts how often each instruction of the guest is executed.
 *
 * Its counts lie in shared memory, for which the argument `shared=N` names an inherited descriptor.
 * The other side reads them, and sets them to zero, while the guest sleeps. It instruments what is
 * translated from `on` on, so that a boot costs nothing; tracers.py has all translated anew then.
 * An instruction that is translated twice has two counts.
 *
 * QEMU counts none twice that it winds back and runs anew (as accesses to devices are, under
 * -icount): it calls nobody the second time.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * What is used of QEMU's include/qemu/qemu-plugin.h, which Debian does not ship: the oldest and
 * plainest part of it.
 */
#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned int, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_t,
    enum qemu_plugin_cb_flags, void *);

/* API, the version of QEMU's interface, and SLOTS, how many counts there are, come from trace.py. */
EXPORT int qemu_plugin_version = API;

struct shared { /* trace.py reads and writes this */
	uint32_t on;
	uint32_t used; /* slots */
	uint32_t overflow; /* whether there were too few of them */
	uint32_t unused;
	uint32_t counts[SLOTS];
	uint64_t addresses[SLOTS];
};

static struct shared *shared;

static void
executed(unsigned int cpu, void *count)
{
	(void)cpu;
	++*(uint32_t *)count;
}

static void
translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t n = qemu_plugin_tb_n_insns(block);

	(void)id;
	if (!__atomic_load_n(&shared->on, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		uint32_t slot = shared->used;

		if (slot == SLOTS) {
			shared->overflow = 1;
			return;
		}
		shared->addresses[slot] = qemu_plugin_insn_vaddr(instruction);
		__atomic_store_n(&shared->used, slot + 1, __ATOMIC_RELEASE);
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, executed,
		    QEMU_PLUGIN_CB_NO_REGS, &shared->counts[slot]);
	}
}

EXPORT int
qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	static const char name[] = "shared=";
	int descriptor = -1;

	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], name, sizeof(name) - 1) == 0)
			descriptor = atoi(argv[i] + sizeof(name) - 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (shared == MAP_FAILED)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
