/* The types of records in a kernel's preload metadata: FreeBSD's sys/linker.h, machine/metadata.h. */
#ifndef RECORDS_H
#define RECORDS_H

#define RECORD_END 0
#define RECORD_NAME 1
#define RECORD_TYPE 2
#define RECORD_ADDRESS 3
#define RECORD_SIZE 4

#define OF_ITS_KIND 0x8000 /* what only some kinds of files have */
#define RECORD_ELF_HEADER (OF_ITS_KIND | 0x2)
#define RECORD_SYMBOLS (OF_ITS_KIND | 0x3)
#define RECORD_SYMBOLS_END (OF_ITS_KIND | 0x4)
#define RECORD_KENV (OF_ITS_KIND | 0x6)
#define RECORD_HOWTO (OF_ITS_KIND | 0x7)
#define RECORD_KERNEND (OF_ITS_KIND | 0x8)
#define RECORD_ELF_SECTIONS (OF_ITS_KIND | 0x9)
#define RECORD_MEMORY_MAP (OF_ITS_KIND | 0x1001)
#define RECORD_MODULEP (OF_ITS_KIND | 0x1006)

#define HOWTO_SERIAL 0x1000 /* boothowto, sys/reboot.h: the serial port is the console */

#endif
