#!/bin/sh
#
# PROVIDE: $unit
# REQUIRE: LOGIN NETWORKING
# KEYWORD: shutdown
#
# $part of the farm in $directory: copy this to /usr/local/etc/rc.d, then
#   sysrc ${unit}_enable=YES && service $unit start

. /etc/rc.subr

name="$unit"
rcvar="${unit}_enable"

load_rc_config "$$name"

: $${${unit}_enable:="NO"}
# Not called _user: rc.subr would start daemon(8) itself as that user, who may not write the pidfile.
: $${${unit}_runas:="$user"}

pidfile="/var/run/$${name}.pid"
command="/usr/sbin/daemon"
command_args="-f -r -R 5 -P $${pidfile} -u $${${unit}_runas} -o /var/log/$${name}.log $directory/run $part"
run_rc_command "$$1"
